{% macro _ip_read(macro_name, relation, arguments={}) -%}
    {#- While dbt parses, only the arguments matter: dbt has recorded their ref() and source() calls as lineage. -#}
    {%- if not execute -%} {{ return(relation) }} {%- endif -%}
    {{ return(adapter.ip.capture.read(macro_name, relation, arguments, _ip_context())) }}
{%- endmacro %}
