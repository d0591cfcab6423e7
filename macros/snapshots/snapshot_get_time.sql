{#- The time of a run that several statements share; else, as dbt's own, that of the statement. -#}
{% macro spark_iceberg__snapshot_get_time() -%}
    {%- set time = adapter.ip.snapshots.time(model) if execute and model is defined else none -%}
    {{ time or current_timestamp() }}
{%- endmacro %}
