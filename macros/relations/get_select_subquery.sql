{% macro spark_iceberg__get_select_subquery(sql) -%}
    select {{ adapter.relations.contracts.select_list(model) | join(", ") }}
    from (
        {{ sql }}
    ) as model_subq
{%- endmacro %}
