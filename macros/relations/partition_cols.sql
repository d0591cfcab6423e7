{% macro spark_iceberg__partition_cols(label, required=false) -%}
    {%- set fields = adapter.partition_fields(config.get("partition_by"), model.unique_id) -%}
    {%- if fields -%} {{ label }} ({{ fields | join(", ") }}) {%- endif -%}
{%- endmacro %}
