{% macro ip_history_as_of(relation, timestamp) -%}
    {%- do adapter.ip.capture.require_arguments("ip_history_as_of", varargs, kwargs) -%}
    {%- if not execute -%} {{ return(relation) }} {%- endif -%}
    {{ return(adapter.ip.history.as_of(relation, timestamp, graph)) }}
{%- endmacro %}
