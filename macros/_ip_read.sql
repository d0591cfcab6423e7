{% macro _ip_read(macro_name, relation) -%}
    {#- While dbt parses, the argument alone matters: its ref() or source() has been recorded as lineage. -#}
    {%- if not execute -%} {{ return(relation) }} {%- endif -%}
    {%- set partial = flags.EMPTY or flags.SAMPLE -%}
    {{ return(adapter.ip_read(macro_name, relation, model, this, should_full_refresh(), partial, flags.WHICH)) }}
{%- endmacro %}
