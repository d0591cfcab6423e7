{% macro ip_status(format="text", model=none, select=none, output=none) -%}
    {%- do adapter.ip.capture.require_arguments("ip_status", varargs, kwargs) -%}
    {%- if execute -%}
        {%- set arguments = {"format": format, "model": model, "select": select, "output": output} -%}
        {%- set status = adapter.ip.operations.status(graph, arguments) -%}
        {%- if format == "json" -%} {{ print(status) }} {%- else -%} {%- do log(status, info=true) -%} {%- endif -%}
    {%- endif -%}
{%- endmacro %}
