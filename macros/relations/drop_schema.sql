{#- Drops all relations first, because Iceberg catalogs refuse to drop a schema with relations, even with CASCADE. -#}
{% macro spark_iceberg__drop_schema(relation) -%}
    {%- if execute -%}
        {%- for held in adapter.relations.lookup.relations_in(relation) -%}
            {%- do drop_relation(held) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- call statement("drop_schema") -%}
        drop schema if exists {{ relation.without_identifier().render() }} cascade
    {%- endcall -%}
{%- endmacro %}
