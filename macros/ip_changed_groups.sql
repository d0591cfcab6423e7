{% macro ip_changed_groups(relation, keys, changes_of=none) -%}
    {{ return(_ip_read("ip_changed_groups", relation, {"keys": keys, "changes_of": changes_of})) }}
{%- endmacro %}
