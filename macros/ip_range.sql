{% macro ip_range(relation, column) -%}
    {%- do adapter.ip.capture.require_arguments("ip_range", varargs, kwargs) -%}
    {%- if not execute -%}
        {{ return(adapter.ip.capture.range_while_parsing()) }}
    {%- endif -%}
    {{ return(_ip_read("ip_range", relation, {"column": column})) }}
{%- endmacro %}
