{% macro ip_changed_groups(relation, keys, changes_of=none) -%}
    {%- do adapter.ip.capture.require_arguments("ip_changed_groups", varargs, kwargs) -%}
    {{ return(_ip_read("ip_changed_groups", relation, {"keys": keys, "changes_of": changes_of})) }}
{%- endmacro %}
