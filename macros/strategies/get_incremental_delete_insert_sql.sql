{% macro spark_iceberg__get_incremental_delete_insert_sql(arg_dict) -%}
    {{ return(adapter.ip.strategies.delete_insert(arg_dict)) }}
{%- endmacro %}
