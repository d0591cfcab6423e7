{% macro spark_iceberg__get_incremental_insert_overwrite_sql(arg_dict) -%}
    {{ return(adapter.ip.strategies.insert_overwrite(model, arg_dict)) }}
{%- endmacro %}
