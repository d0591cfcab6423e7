{% macro get_incremental_apply_changes_sql(arg_dict) -%}
    {{ return(adapter.dispatch("get_incremental_apply_changes_sql", "dbt")(arg_dict)) }}
{%- endmacro %}

{% macro spark_iceberg__get_incremental_apply_changes_sql(arg_dict) -%}
    {{ return(adapter.ip.strategies.apply_changes(model, arg_dict)) }}
{%- endmacro %}
