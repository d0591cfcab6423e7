{#- Compares the whole query with the whole table, using dbt's statements. -#}
{% macro _ip_compare_whole(target_relation) -%}
    {%- set stored = adapter.get_columns_in_relation(target_relation) -%}
    {%- set columns = _ip_snapshot_columns() -%}
    {%- set of_ids = api.Relation.scd_args(config.get("unique_key"), columns.dbt_updated_at) -%}
    {%- set ids = snapshot_hash_arguments(of_ids) -%}
    {%- set leaves_checkpoint = adapter.ip.snapshots.leaves_checkpoint(model, stored, ids) -%}
    {%- set strategy = _ip_snapshot_strategy(true) -%}
    {%- do adapter.assert_valid_snapshot_target_given_strategy(target_relation, columns, strategy) -%}

    {%- set query = adapter.ip.snapshots.as_read(model)["compiled_code"] -%}
    {%- set select = snapshot_staging_table(strategy, query, target_relation) -%}
    {%- set staging = make_temp_relation(target_relation) -%}
    {%- call statement("build_snapshot_staging_relation") -%}
        {{ create_table_as(true, staging, select) }}
    {%- endcall -%}
    {%- do adapter.expand_target_column_types(from_relation=staging, to_relation=target_relation) -%}
    {%- set internal = ["dbt_change_type", "dbt_unique_key"] -%}
    {%- if strategy.unique_key is not string -%}
        {%- for _ in strategy.unique_key -%} {%- do internal.append("dbt_unique_key_" ~ loop.index) -%} {%- endfor -%}
    {%- endif -%}
    {%- set missing = adapter.get_missing_columns(staging, target_relation) -%}
    {%- do create_columns(target_relation, missing | rejectattr("name", "in", internal) | list) -%}
    {%- set given = adapter.get_columns_in_relation(staging) | rejectattr("name", "in", internal) -%}
    {%- set names = [] -%}
    {%- for column in given -%} {%- do names.append(adapter.quote(column.name)) -%} {%- endfor -%}
    {%- do check_time_data_types(select) -%}

    {%- set table = adapter.ip.snapshots.staged(model, target_relation) -%}
    {%- set sql = snapshot_merge_sql(target=table, source=staging, insert_cols=names) -%}
    {%- if leaves_checkpoint -%}
        {%- do write(sql) -%}
        {%- set response = adapter.ip.snapshots.merge(model, sql) -%}
    {%- else -%}
        {%- call statement("main") -%} {{ sql }} {%- endcall -%}
        {%- set response = load_result("main").response -%}
    {%- endif -%}
    {%- do post_snapshot(staging) -%}
    {{ return(response) }}
{%- endmacro %}
