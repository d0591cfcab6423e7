{% macro spark_iceberg__get_empty_subquery_sql(select_sql, select_sql_header=none) -%}
    {%- do _run_sql_header(select_sql_header) -%}
    select * from (
        {{ select_sql }}
    ) as __dbt_sbq
    where false
    limit 0
{%- endmacro %}
