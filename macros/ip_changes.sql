{% macro ip_changes(relation) -%}
    {{ return(_ip_read("ip_changes", relation)) }}
{%- endmacro %}
