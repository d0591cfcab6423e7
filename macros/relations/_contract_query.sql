{#- A model's query; under a contract its columns are checked, and NULLs are stopped where that says not_null. -#}
{% macro _contract_query(sql) -%}
    {%- if config.get("contract").enforced -%}
        {%- do get_assert_columns_equivalent(sql) -%}
        {%- do _note_constraints() -%}
        {{ return(get_select_subquery(sql)) }}
    {%- endif -%}
    {{ return(sql) }}
{%- endmacro %}
