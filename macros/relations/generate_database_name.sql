{% macro spark_iceberg__generate_database_name(custom_database_name=none, node=none) -%}
    {{ return(custom_database_name | trim if custom_database_name else target.database) }}
{%- endmacro %}
