{#- Reuses the result of the model's audit if it is still valid for the table. -#}
{% macro spark_iceberg__get_test_sql(main_sql, fail_calc, warn_if, error_if, limit) -%}
    {%- set found = adapter.ip.audit.known(model) if model is defined and model.resource_type == "test" else none -%}
    {%- if found is none -%}
        {{ return(default__get_test_sql(main_sql, fail_calc, warn_if, error_if, limit)) }}
    {%- endif -%}
    select {{ found["failures"] }} as failures, {{ found["warns"] }} as should_warn, false as should_error
{%- endmacro %}
