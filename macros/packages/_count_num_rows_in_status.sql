{#- audit_helper: counts the distinct rows of a status. Spark has no count(distinct ...) over a window.
    A row's rank from the front and its rank from the back, both dense, add up to that count plus 1. -#}
{% macro spark_iceberg___count_num_rows_in_status() -%}
    {%- set row = ["dbt_audit_surrogate_key", "dbt_audit_pk_row_num"] -%}
    {%- set window = "over (partition by dbt_audit_row_status order by " -%}
    dense_rank() {{ window }}{{ row | join(", ") }})
    + dense_rank() {{ window }}{{ row | join(" desc, ") }} desc) - 1
{%- endmacro %}
