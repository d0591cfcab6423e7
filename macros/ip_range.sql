{% macro ip_range(relation, column) -%}
    {%- do adapter.ip_require_arguments("ip_range", varargs, kwargs) -%}
    {%- if not execute -%}
        {{ return({"min": "null", "max": "null", "is_empty": false, "has_nulls": false}) }}
    {%- endif -%}
    {{ return(_ip_read("ip_range", relation, {"column": column})) }}
{%- endmacro %}
