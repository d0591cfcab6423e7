{% macro spark_iceberg__generate_database_name(custom_database_name=none, node=none) -%}
    {{ return(adapter.relations.placement.database(custom_database_name, node)) }}
{%- endmacro %}
