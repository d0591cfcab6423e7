{% macro ip_signed_changes(relation) -%}
    {%- do adapter.ip.capture.require_arguments("ip_signed_changes", varargs, kwargs) -%}
    {{ return(_ip_read("ip_signed_changes", relation)) }}
{%- endmacro %}
