{% macro spark_iceberg__location_clause() -%}
    {%- set location = adapter.relations.tables.location(model) if execute -%}
    {%- if location -%} location {{ adapter.relations.sql_string(location) }} {%- endif -%}
{%- endmacro %}
