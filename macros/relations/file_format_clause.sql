{% macro spark_iceberg__file_format_clause() -%}
    {{ return("using " ~ (config.get("file_format") or "iceberg")) }}
{%- endmacro %}
