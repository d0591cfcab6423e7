{#- Spark has two kinds of volatility. It has no functions whose value is stable only within a statement. -#}
{% macro spark_iceberg__scalar_function_volatility_sql() -%}
    {%- set volatility = model.config.get("volatility") -%}
    {%- if volatility == "deterministic" -%} DETERMINISTIC
    {%- elif volatility == "non-deterministic" -%} NOT DETERMINISTIC
    {%- elif volatility is not none -%} {%- do unsupported_volatility_warning(volatility) -%}
    {%- endif -%}
{%- endmacro %}
