{% macro _ip_apply(target_relation, compiled_code) -%}
    {%- set rows = _ip_new_rows(compiled_code) -%}
    {%- set new_rows = make_temp_relation(target_relation, "__ip_changes") -%}
    {%- if adapter.ip.strategies.reads_rows(model) -%}
        {%- do adapter.ip.write.create_view(new_rows, rows["sql"]) -%}
    {%- endif -%}
    {%- do adapter.ip.write.require_settings(model) -%}
    {%- set given = rows["columns"] or adapter.get_columns_in_relation(new_rows) -%}
    {%- set synced = _ip_synced_columns(given, target_relation) -%}
    {%- set strategy = adapter.ip.strategies.of(model) -%}
    {%- set build_sql = adapter.get_incremental_strategy_macro(context, strategy.name) -%}
    {%- set statement = build_sql({
        "target_relation": adapter.ip.model.staged(model, target_relation),
        "temp_relation": new_rows,
        "changelog_relation": rows["changelog"],
        "unique_key": config.get("unique_key"),
        "dest_columns": synced["written"],
        "target_columns": synced["all"],
        "added_columns": synced["changes"].added,
        "incremental_predicates": strategy.predicates,
    }) -%}
    {#- At this point, all checks of the columns have passed. -#}
    {%- do _ip_alter_columns(target_relation, synced["changes"]) -%}
    {%- do write(statement | string) -%}
    {{ return(adapter.ip.write.apply(model, statement, new_rows, rows["changelog"])) }}
{%- endmacro %}
