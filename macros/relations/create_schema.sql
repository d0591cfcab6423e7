{% macro spark_iceberg__create_schema(relation) -%}
    {%- do adapter.relations.placement.schema(relation.schema) -%}
    {%- call statement("create_schema") -%}
        create schema if not exists {{ relation.without_identifier().render() }}
    {%- endcall -%}
{%- endmacro %}
