{% macro ip_range(relation, column) -%}
    {%- do adapter.ip_require_arguments("ip_range", varargs, kwargs) -%}
    {%- if not execute -%}
        {{ return(adapter.ip_range_while_parsing()) }}
    {%- endif -%}
    {{ return(_ip_read("ip_range", relation, {"column": column})) }}
{%- endmacro %}
