{% macro spark_iceberg__formatted_scalar_function_args_sql() -%}
    {%- for argument in model.arguments -%}
        {{ adapter.quote(argument.name) }} {{ argument.data_type }}
        {%- if argument.get("default_value") is not none %} DEFAULT {{ argument.default_value }} {%- endif -%}
        {{ ", " if not loop.last }}
    {%- endfor -%}
{%- endmacro %}
