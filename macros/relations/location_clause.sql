{% macro spark_iceberg__location_clause() -%}
    {%- set root = config.get("location_root") -%}
    {%- if root -%}
        location {{ adapter.sql_string(root ~ "/" ~ model["alias"]) }}
    {%- endif -%}
{%- endmacro %}
