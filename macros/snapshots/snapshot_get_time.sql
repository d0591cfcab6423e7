{#- Returns the run's time, if its statements share one. By default, the statement's time, as in dbt's own macro. -#}
{% macro spark_iceberg__snapshot_get_time() -%}
    {%- set time = adapter.ip.snapshots.time(model) if execute and model is defined else none -%}
    {{ time or current_timestamp() }}
{%- endmacro %}
