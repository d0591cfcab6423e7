{% macro ip_as_of(relation) -%}
    {{ return(_ip_read("ip_as_of", relation)) }}
{%- endmacro %}
