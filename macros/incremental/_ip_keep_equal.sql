{#- Updates the table of a model with the strategy auto, so that it equals the result of the SQL. -#}
{% macro _ip_keep_equal(target_relation, query) -%}
    {%- do _run_sql_header() -%}
    {%- set query = _contract_query(query) -%}
    {%- do adapter.ip.write.require_settings(model) -%}
    {%- set given = adapter.ip.auto.columns(query) -%}
    {%- set synced = _ip_synced_columns(given, target_relation) -%}
    {%- do _ip_alter_columns(target_relation, synced["changes"]) -%}
    {{ return(adapter.ip.write.update_incrementally(model, query, given, synced)) }}
{%- endmacro %}
