{#- Makes the table of a model with the strategy auto equal to its SQL. -#}
{% macro _ip_keep_equal(target_relation, query) -%}
    {%- do _run_sql_header() -%}
    {%- set query = _contract_query(query) -%}
    {%- set new_rows = make_temp_relation(target_relation, "__ip_changes") -%}
    {%- do run_query(create_temporary_view(new_rows, query)) -%}
    {%- do adapter.ip.write.require_settings(model) -%}
    {%- set given = adapter.get_columns_in_relation(new_rows) -%}
    {%- set synced = _ip_synced_columns(given, target_relation, config.get("on_schema_change") or "ignore") -%}
    {%- do _ip_alter_columns(target_relation, synced["changes"]) -%}
    {{ return(adapter.ip.write.keep_equal(model, query, given, synced)) }}
{%- endmacro %}
