{#- Builds the table of a snapshot as dbt does. By default, later runs end versions with merge-on-read. -#}
{% macro _ip_create_snapshot(target_relation) -%}
    {%- set strategy = _ip_snapshot_strategy(false) -%}
    {%- set query = adapter.ip.snapshots.as_read(model)["compiled_code"] -%}
    {%- set rows = build_snapshot_table(strategy, query) -%}
    {%- do check_time_data_types(rows) -%}
    {%- if not adapter.ip.snapshots.leaves_checkpoint(model, adapter.ip.auto.columns(rows)) -%}
        {%- call statement("main") -%} {{ create_table_as(false, target_relation, rows) }} {%- endcall -%}
        {{ return(load_result("main").response) }}
    {%- endif -%}
    {%- set properties = adapter.ip.snapshots.table_properties(model) -%}
    {%- set rows = adapter.relations.tables.in_order(model, rows) -%}
    {%- set sql = _table_definition(target_relation, tblproperties=properties) ~ "\nas\n" ~ rows -%}
    {%- do write(sql) -%}
    {{ return(adapter.ip.snapshots.create(model, sql)) }}
{%- endmacro %}
