{% macro _ip_read(macro_name, relation, arguments={}) -%}
    {#- During parsing, dbt has already recorded the ref() and source() calls in the arguments as lineage. -#}
    {%- if not execute -%} {{ return(relation) }} {%- endif -%}
    {{ return(adapter.ip.capture.read(macro_name, relation, arguments, _ip_context())) }}
{%- endmacro %}
