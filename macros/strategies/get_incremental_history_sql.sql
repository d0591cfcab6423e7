{% macro get_incremental_history_sql(arg_dict) -%}
    {{ return(adapter.dispatch("get_incremental_history_sql", "dbt")(arg_dict)) }}
{%- endmacro %}

{% macro spark_iceberg__get_incremental_history_sql(arg_dict) -%}
    {{ return(adapter.ip.strategies.history(model, arg_dict)) }}
{%- endmacro %}
