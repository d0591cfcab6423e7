{% macro spark_iceberg__location_clause() -%}
    {%- set location = adapter.table_location(model) -%}
    {%- if location -%} location {{ adapter.sql_string(location) }} {%- endif -%}
{%- endmacro %}
