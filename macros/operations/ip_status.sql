{% macro ip_status(format="text", model=none, select=none) -%}
    {%- do adapter.ip_require_arguments("ip_status", varargs, kwargs) -%}
    {%- if execute -%}
        {%- set status = adapter.ip_status(graph, {"format": format, "model": model, "select": select}) -%}
        {%- if format == "json" -%} {{ print(status) }} {%- else -%} {%- do log(status, info=true) -%} {%- endif -%}
    {%- endif -%}
{%- endmacro %}
