{% macro spark_iceberg__get_incremental_merge_sql(arg_dict) -%}
    {{ return(adapter.ip.strategies.merge(model, arg_dict)) }}
{%- endmacro %}
