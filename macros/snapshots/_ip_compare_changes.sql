{#-
    Has dbt's macros compare the rows of the keys that have changed, and applies what they find. None where whole tables
    have to be compared.
-#}
{% macro _ip_compare_changes() -%}
    {%- set rows = adapter.ip.snapshots.changed(model) -%}
    {%- if rows is none -%} {{ return(none) }} {%- endif -%}
    {%- set strategy = _ip_snapshot_strategy(true) -%}
    {%- set staging = snapshot_staging_table(strategy, "select * from " ~ rows["came"], rows["open"]) -%}
    {%- do write(staging) -%}
    {{ return(adapter.ip.snapshots.apply(model, staging)) }}
{%- endmacro %}
