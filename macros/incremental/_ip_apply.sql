{% macro _ip_apply(target_relation, compiled_code) -%}
    {%- set strategy = config.get("incremental_strategy") or "append" -%}
    {%- set new_rows = make_temp_relation(target_relation, "__ip_changes") -%}
    {%- set changelog = none -%}
    {%- if strategy == "apply_changes" -%}
        {%- set changelog = _ip_changelog_view(compiled_code) -%}
        {%- do run_query(create_temporary_view(new_rows, _ip_kept_rows(changelog))) -%}
    {%- else -%} {%- do run_query(create_table_as(true, new_rows, compiled_code)) -%}
    {%- endif -%}
    {%- do adapter.require_settings(model) -%}
    {%- set synced = _ip_synced_columns(new_rows, target_relation, config.get("on_schema_change") or "ignore") -%}
    {%- set columns = synced["written"] -%}
    {%- if strategy == "insert_overwrite" -%}
        {%- do adapter.ip_require_partitions(model, target_relation) -%}
    {%- endif -%}
    {%- set predicates = config.get("predicates") or config.get("incremental_predicates") or [] -%}
    {%- set build_sql = adapter.get_incremental_strategy_macro(context, strategy) -%}
    {%- set arguments = {
        "target_relation": adapter.ip_staged(model, target_relation),
        "temp_relation": new_rows,
        "changelog_relation": changelog,
        "unique_key": config.get("unique_key"),
        "dest_columns": columns,
        "target_columns": synced["all"],
        "incremental_predicates": [predicates] if predicates is string else predicates,
    } -%}
    {%- set sql = build_sql(arguments) -%}
    {%- do write(sql) -%}
    {{ return(adapter.ip_apply(model, sql, columns if arguments.get("replaces") else none)) }}
{%- endmacro %}
