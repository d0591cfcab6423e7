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
    {%- do process_schema_changes(config.get("on_schema_change") or "ignore", new_rows, target_relation) -%}
    {%- set target_columns = adapter.get_columns_in_relation(target_relation) -%}
    {%- set columns = adapter.ip_written_columns(adapter.get_columns_in_relation(new_rows), target_columns) -%}
    {%- if strategy == "insert_overwrite" -%}
        {%- do adapter.ip_require_partitions(model, run_query("describe table " ~ target_relation.render()).rows) -%}
    {%- endif -%}
    {%- set predicates = config.get("predicates") or config.get("incremental_predicates") or [] -%}
    {%- set build_sql = adapter.get_incremental_strategy_macro(context, strategy) -%}
    {%- set arguments = {
        "target_relation": target_relation,
        "temp_relation": new_rows,
        "changelog_relation": changelog,
        "unique_key": config.get("unique_key"),
        "dest_columns": columns,
        "target_columns": target_columns,
        "incremental_predicates": [predicates] if predicates is string else predicates,
    } -%}
    {%- set sql = build_sql(arguments) -%}
    {%- do write(sql) -%}
    {{ return(adapter.ip_apply(model, sql, columns if arguments.get("replaces") else none)) }}
{%- endmacro %}
