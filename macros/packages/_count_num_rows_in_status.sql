{#-
    audit_helper: counts the distinct rows of a status. Spark has no count(distinct ...) over a window. The sum of a
    row's dense ranks in ascending and descending order is this count plus 1.
-#}
{% macro spark_iceberg___count_num_rows_in_status() -%}
    {%- set row = ["dbt_audit_surrogate_key", "dbt_audit_pk_row_num"] -%}
    {%- set window = "over (partition by dbt_audit_row_status order by " -%}
    dense_rank() {{ window }}{{ row | join(", ") }})
    + dense_rank() {{ window }}{{ row | join(" desc, ") }} desc) - 1
{%- endmacro %}
