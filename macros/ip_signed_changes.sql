{% macro ip_signed_changes(relation) -%}
    {%- do adapter.ip_require_arguments("ip_signed_changes", varargs, kwargs) -%}
    {{ return(_ip_read("ip_signed_changes", relation)) }}
{%- endmacro %}
