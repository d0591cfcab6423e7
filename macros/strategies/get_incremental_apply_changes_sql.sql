{% macro get_incremental_apply_changes_sql(arg_dict) -%}
    {{ return(adapter.dispatch("get_incremental_apply_changes_sql", "dbt")(arg_dict)) }}
{%- endmacro %}
