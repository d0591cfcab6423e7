{% macro _ip_apply(target_relation, compiled_code) -%}
    {%- set rows = _ip_new_rows(compiled_code) -%}
    {%- set new_rows = make_temp_relation(target_relation, "__ip_changes") -%}
    {%- do run_query(create_temporary_view(new_rows, rows["sql"])) -%}
    {%- do adapter.require_settings(model) -%}
    {%- set synced = _ip_synced_columns(new_rows, target_relation, config.get("on_schema_change") or "ignore") -%}
    {%- set columns = synced["written"] -%}
    {%- set strategy = adapter.ip_strategy(model) -%}
    {%- set build_sql = adapter.get_incremental_strategy_macro(context, strategy.name) -%}
    {%- set arguments = {
        "target_relation": adapter.ip_staged(model, target_relation),
        "temp_relation": adapter.ip_rows_to_write(model, new_rows),
        "changelog_relation": rows["changelog"],
        "unique_key": config.get("unique_key"),
        "dest_columns": columns,
        "target_columns": synced["all"],
        "incremental_predicates": strategy.predicates,
    } -%}
    {%- set sql = build_sql(arguments) -%}
    {#- Whatever refuses the rows by their columns has done so by now. -#}
    {%- do _ip_alter_columns(target_relation, synced["changes"]) -%}
    {%- do write(sql) -%}
    {%- if arguments.get("is_kept") -%}
        {{ return(adapter.ip_apply_changelog(model, sql, columns, rows["changelog"], arguments["is_kept"])) }}
    {%- endif -%}
    {{ return(adapter.ip_apply(model, sql, columns if arguments.get("replaces") else none, new_rows)) }}
{%- endmacro %}
