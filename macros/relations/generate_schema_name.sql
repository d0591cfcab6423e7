{% macro spark_iceberg__generate_schema_name(custom_schema_name=none, node=none) -%}
    {%- set schema = default__generate_schema_name(custom_schema_name, node) | trim -%}
    {{ return(adapter.relations.placement.schema(schema, node.unique_id if node else "A model")) }}
{%- endmacro %}
