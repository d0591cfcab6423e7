{% macro ip_as_of(relation) -%}
    {%- do adapter.ip.capture.require_arguments("ip_as_of", varargs, kwargs) -%}
    {{ return(_ip_read("ip_as_of", relation)) }}
{%- endmacro %}
