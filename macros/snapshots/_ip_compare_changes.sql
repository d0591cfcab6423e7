{#-
    Compares the rows of the changed keys, using dbt's macros, and applies the result. Returns none if whole tables must
    be compared.
-#}
{% macro _ip_compare_changes() -%}
    {%- set rows = adapter.ip.snapshots.changed(model) -%}
    {%- if rows is none -%} {{ return(none) }} {%- endif -%}
    {%- set strategy = _ip_snapshot_strategy(true) -%}
    {%- set staging = snapshot_staging_table(strategy, "select * from " ~ rows["added"], rows["open"]) -%}
    {%- do write(staging) -%}
    {{ return(adapter.ip.snapshots.apply(model, staging)) }}
{%- endmacro %}
