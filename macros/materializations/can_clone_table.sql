{% macro spark_iceberg__can_clone_table() -%}
    {{ return(execute and adapter.relations.tables.are_cloned(config.get("clone_as"), model.unique_id)) }}
{%- endmacro %}
