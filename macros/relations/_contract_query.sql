{#- Returns a model's query. With a contract, checks its columns, and makes it fail for NULL in not_null columns. -#}
{% macro _contract_query(sql) -%}
    {%- if config.get("contract").enforced -%}
        {%- do get_assert_columns_equivalent(sql) -%}
        {%- do _note_constraints() -%}
        {{ return(get_select_subquery(sql)) }}
    {%- endif -%}
    {{ return(sql) }}
{%- endmacro %}
