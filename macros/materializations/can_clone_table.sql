{% macro spark_iceberg__can_clone_table() -%}
    {{ return(adapter.clones_as_table(config.get("clone_as"), model.unique_id)) }}
{%- endmacro %}
