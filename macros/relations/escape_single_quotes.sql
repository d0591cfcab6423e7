{% macro spark_iceberg__escape_single_quotes(expression) -%}
    {{ return(adapter.relations.sql_string(expression)[1:-1]) }}
{%- endmacro %}
