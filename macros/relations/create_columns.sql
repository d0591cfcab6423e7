{% macro spark_iceberg__create_columns(relation, columns) -%}
    {%- do alter_relation_add_remove_columns(relation, columns, none) -%}
{%- endmacro %}
