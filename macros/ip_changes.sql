{% macro ip_changes(relation) -%}
    {%- do adapter.ip.capture.require_arguments("ip_changes", varargs, kwargs) -%}
    {{ return(_ip_read("ip_changes", relation)) }}
{%- endmacro %}
