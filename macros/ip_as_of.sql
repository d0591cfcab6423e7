{% macro ip_as_of(relation) -%}
    {%- do adapter.ip_require_arguments("ip_as_of", varargs, kwargs) -%}
    {{ return(_ip_read("ip_as_of", relation)) }}
{%- endmacro %}
