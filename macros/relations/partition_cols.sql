{% macro spark_iceberg__partition_cols(label, required=false) -%}
    {%- if execute -%}
        {%- set fields = adapter.relations.tables.partition_fields(config.get("partition_by"), model.unique_id) -%}
        {%- if fields -%} {{ label }} ({{ fields | join(", ") }}) {%- endif -%}
    {%- endif -%}
{%- endmacro %}
