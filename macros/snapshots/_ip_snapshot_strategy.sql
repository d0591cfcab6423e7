{#- Returns the strategy of a snapshot, built for the SQL that this run executes. -#}
{% macro _ip_snapshot_strategy(exists) -%}
    {%- set build = strategy_dispatch(config.get("strategy")) -%}
    {%- set node = adapter.ip.snapshots.as_read(model) -%}
    {{ return(build(node, "snapshotted_data", "source_data", model["config"], exists)) }}
{%- endmacro %}
