{% materialization iceberg_incremental_snapshot, adapter="spark_iceberg", supported_languages=["sql", "python"] -%}
    {%- set is_plain = adapter.ip.model.is_plain(model) -%}
    {%- if is_plain -%} {%- do adapter.ip.auto.capture(compiled_code, _ip_context()) -%} {%- endif -%}
    {%- set action = adapter.ip.model.begin(model) -%}
    {%- set target_relation = this.incorporate(type="table") -%}
    {%- set existing_relation = load_cached_relation(this) -%}
    {%- do adapter.ip.model.hold(model) -%}
    {%- if action in ["rebuild", "apply"] -%}
        {%- do adapter.ip.audit.prepare(model, graph, selected_resources, render) -%}
    {%- endif -%}

    {{ run_hooks(pre_hooks) }}

    {%- set keeps_versions = action == "rebuild" and adapter.ip.history.keeps_versions(model) -%}
    {%- if action in ["rebuild", "partial_build"] and not keeps_versions -%}
        {%- do adapter.ip.history.warn_of_dropped(model, existing_relation) -%}
        {%- if is_plain -%} {%- set query = adapter.ip.auto.query(model, compiled_code) -%}
        {%- else -%} {%- set query = _model_query(compiled_code, once=adapter.ip.model.has_sequence(model)) -%}
        {%- endif -%}
        {%- set response = _ip_rebuild(target_relation, existing_relation, query) -%}
        {%- do _complete_table(target_relation) -%}
    {%- elif action == "apply" and is_plain -%}
        {%- set response = _ip_keep_equal(target_relation, adapter.ip.auto.query(model, compiled_code)) -%}
    {%- elif action == "apply" or keeps_versions -%}
        {%- set response = _ip_apply(target_relation, _model_query(compiled_code, once=true)) -%}
    {%- elif action == "check_only" -%}
        {%- set response = _ip_check_only(target_relation, _model_query(compiled_code)) -%}
    {%- else -%} {%- set response = adapter.ip.write.finish(model) -%}
    {%- endif -%}
    {%- do store_result("main", response=response) -%}
    {%- do adapter.ip.model.release(model) -%}

    {%- if action in ["rebuild", "partial_build", "apply"] -%}
        {%- set full_refresh_mode = action != "apply" and not keeps_versions -%}
        {%- do apply_grants(
            target_relation,
            config.get("grants"),
            should_revoke=should_revoke(existing_relation, full_refresh_mode=full_refresh_mode),
        ) -%}
        {%- do persist_docs(target_relation, model) -%}
    {%- endif -%}

    {{ run_hooks(post_hooks) }}

    {{ return({"relations": [target_relation]}) }}
{%- endmaterialization %}
