{% macro ip_explain(format="text", model=none, select=none) -%}
    {%- do adapter.ip.capture.require_arguments("ip_explain", varargs, kwargs) -%}
    {%- if execute -%}
        {%- set arguments = {"format": format, "model": model, "select": select} -%}
        {%- set found = adapter.ip.explain.explain(graph, arguments) -%}
        {%- if format == "json" -%} {{ print(found) }} {%- else -%} {%- do log(found, info=true) -%} {%- endif -%}
    {%- endif -%}
{%- endmacro %}
