{#- dbt's own: dbt-spark's knows two-level names only. -#}
{% materialization snapshot, adapter="spark_iceberg" -%}
    {{ return(materialization_snapshot_default()) }}
{%- endmaterialization %}
