{# A model's query, its columns checked against the contract, if it has one, and NULLs stopped where that says not_null. #}
{% macro contract_query(sql) %}
  {% if config.get('contract').enforced %}
    {% do get_assert_columns_equivalent(sql) %}
    {% do return(get_select_subquery(sql)) %}
  {% endif %}
  {% do return(sql) %}
{% endmacro %}
