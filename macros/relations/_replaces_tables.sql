{#- Whether the model's file format supports CREATE OR REPLACE TABLE, which is atomic. -#}
{% macro _replaces_tables() -%}
    {{ return((config.get("file_format") or "iceberg") in ("iceberg", "delta")) }}
{%- endmacro %}
