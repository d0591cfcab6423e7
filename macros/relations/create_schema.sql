{#- Creates the schemas around a schema of several levels, too. -#}
{% macro spark_iceberg__create_schema(relation) -%}
    {%- do adapter.relations.placement.schema(relation.schema) -%}
    {%- for missing in adapter.relations.lookup.missing_levels(relation) -%}
        {%- call statement("create_schema") -%}
            create schema if not exists {{ missing.render() }}
        {%- endcall -%}
    {%- endfor -%}
{%- endmacro %}
