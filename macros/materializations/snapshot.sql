{#-
    dbt's snapshot materialization, because dbt-spark's supports only two-level names. If the snapshot's SQL reads one
    table row by row, a run compares only the changed keys.
-#}
{% materialization snapshot, adapter="spark_iceberg" -%}
    {%- set hard_deletes = adapter.get_hard_deletes_behavior(config) -%}
    {%- if not adapter.ip.snapshots.begin(model["compiled_code"], _ip_snapshot_columns(), _ip_context()) -%}
        {%- set exists = load_cached_relation(this) is not none -%}
        {%- do adapter.ip.dbt_models.require_times(model, model["compiled_code"], hard_deletes, exists=exists) -%}
        {%- set built = materialization_snapshot_default() -%}
        {%- if not exists -%} {%- do _complete_table(this) -%} {%- endif -%}
        {{ return(built) }}
    {%- endif -%}
    {%- set exists, target_relation = get_or_create_relation(
        database=model.database, schema=model.schema, identifier=model.get("alias", model.name), type="table"
    ) -%}
    {%- if not target_relation.is_table -%}
        {%- do exceptions.relation_wrong_type(target_relation, "table") -%}
    {%- endif -%}

    {{ run_hooks(pre_hooks, inside_transaction=False) }}
    {{ run_hooks(pre_hooks, inside_transaction=True) }}

    {%- set action = adapter.ip.snapshots.plan(model, target_relation, exists) -%}
    {%- if action != "finish" -%}
        {%- do adapter.ip.dbt_models.require_times(model, model["compiled_code"], hard_deletes, exists=exists) -%}
    {%- endif -%}
    {%- if action == "create" -%}
        {%- set response = _ip_create_snapshot(target_relation) -%}
        {%- do _complete_table(target_relation) -%}
    {%- elif action == "finish" -%} {%- set response = adapter.ip.snapshots.finish(model) -%}
    {%- else -%}
        {%- set found = _ip_compare_changes() if action == "changes" else none -%}
        {%- set response = found if found is not none else _ip_compare_whole(target_relation) -%}
    {%- endif -%}
    {%- do store_result("main", response=response) -%}

    {%- if action != "finish" -%}
        {%- set revoked = should_revoke(exists, full_refresh_mode=False) -%}
        {%- do apply_grants(target_relation, config.get("grants"), should_revoke=revoked) -%}
        {%- do persist_docs(target_relation, model) -%}
    {%- endif -%}

    {{ run_hooks(post_hooks, inside_transaction=True) }}
    {{ adapter.commit() }}
    {{ run_hooks(post_hooks, inside_transaction=False) }}

    {{ return({"relations": [target_relation]}) }}
{%- endmaterialization %}
