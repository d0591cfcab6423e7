{#- A model's query. With a contract, its columns are checked, and NULLs in not_null columns are rejected. -#}
{% macro _contract_query(sql) -%}
    {%- if config.get("contract").enforced -%}
        {%- do get_assert_columns_equivalent(sql) -%}
        {%- do _note_constraints() -%}
        {{ return(get_select_subquery(sql)) }}
    {%- endif -%}
    {{ return(sql) }}
{%- endmacro %}
