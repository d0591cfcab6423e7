{% macro ip_changelog(relation, unique_key=none, per=none) -%}
    {%- do adapter.ip.capture.require_arguments("ip_changelog", varargs, kwargs) -%}
    {{ return(_ip_read("ip_changelog", relation, {"unique_key": unique_key, "per": per})) }}
{%- endmacro %}
