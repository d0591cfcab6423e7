{% macro spark_iceberg__get_incremental_microbatch_sql(arg_dict) -%}
    {{ return(adapter.ip.strategies.microbatch(model, arg_dict)) }}
{%- endmacro %}
