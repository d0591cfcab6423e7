{#-
    dbt's incremental materialization. A full refresh replaces the table atomically. All strategies with a
    get_incremental_<name>_sql macro are supported.
-#}
{% materialization incremental, adapter="spark_iceberg", supported_languages=["sql", "python"] -%}
    {%- set strategy = adapter.ip.strategies.of(model) -%}
    {%- set build_sql = adapter.get_incremental_strategy_macro(context, strategy.name) -%}
    {%- do incremental_validate_on_schema_change(config.get("on_schema_change"), default="ignore") -%}
    {%- set existing = load_cached_relation(this) -%}
    {%- set target_relation = this.incorporate(type="table") -%}
    {%- set rebuild = existing is none or existing.is_view or should_full_refresh() -%}
    {{ run_hooks(pre_hooks) }}

    {%- set query = _model_query(compiled_code, once=not rebuild) -%}
    {%- if rebuild -%}
        {%- do _make_way(existing) -%}
        {%- call statement("main") -%}
            {{ create_table_as(false, target_relation, query) }}
        {%- endcall -%}
        {%- set response = adapter.ip.dbt_models.build_response(target_relation, load_result("main").response) -%}
        {%- do store_result("main", response=response) -%}
        {%- do _complete_table(target_relation) -%}
    {%- else -%}
        {%- set new_rows = make_temp_relation(target_relation) -%}
        {%- do run_query(create_table_as(true, new_rows, query)) -%}
        {%- set given = adapter.get_columns_in_relation(new_rows) -%}
        {%- set synced = _ip_synced_columns(given, target_relation) -%}
        {%- do _ip_alter_columns(target_relation, synced["changes"]) -%}
        {%- set sql = build_sql({
            "target_relation": target_relation,
            "temp_relation": new_rows,
            "unique_key": config.get("unique_key"),
            "dest_columns": synced["written"],
            "incremental_predicates": strategy.predicates,
        }) -%}
        {%- do adapter.ip.write.require_settings(model, everywhere=true) -%}
        {%- if strategy.name == "insert_overwrite" -%}
            {%- do adapter.ip.dbt_models.require_one_spec(model, target_relation) -%}
        {%- endif -%}
        {%- do write(sql | string) -%}
        {%- set response = adapter.ip.dbt_models.run_strategy(target_relation, sql, strategy.name) -%}
        {%- do store_result("main", response=response) -%}
    {%- endif -%}

    {%- do apply_grants(target_relation, config.get("grants"), should_revoke(existing, full_refresh_mode=rebuild)) -%}
    {%- do persist_docs(target_relation, model) -%}
    {{ run_hooks(post_hooks) }}
    {{ return({"relations": [target_relation]}) }}
{%- endmaterialization %}
