{% macro _ip_read(macro_name, relation, arguments={}) -%}
    {#- While dbt parses, the arguments alone matter: their ref() and source() have been recorded as lineage. -#}
    {%- if not execute -%} {{ return(relation) }} {%- endif -%}
    {{ return(adapter.ip.capture.read(macro_name, relation, arguments, _ip_context())) }}
{%- endmacro %}
