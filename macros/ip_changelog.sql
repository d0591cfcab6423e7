{% macro ip_changelog(relation, unique_key=none) -%}
    {{ return(_ip_read("ip_changelog", relation, {"unique_key": unique_key})) }}
{%- endmacro %}
