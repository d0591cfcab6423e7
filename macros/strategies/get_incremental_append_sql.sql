{% macro spark_iceberg__get_incremental_append_sql(arg_dict) -%}
    {{ return(adapter.ip.strategies.append(arg_dict)) }}
{%- endmacro %}
