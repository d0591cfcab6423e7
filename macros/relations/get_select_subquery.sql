{% macro spark_iceberg__get_select_subquery(sql) -%}
    select {{ adapter.contract_columns(model) | join(", ") }}
    from (
        {{ sql }}
    ) as model_subq
{%- endmacro %}
