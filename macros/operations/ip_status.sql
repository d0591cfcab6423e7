{% macro ip_status(format="text", model=none) -%}
    {%- if execute -%}
        {%- set status = adapter.ip_status(graph, {"format": format, "model": model}) -%}
        {%- if format == "json" -%} {{ print(status) }} {%- else -%} {%- do log(status, info=true) -%} {%- endif -%}
    {%- endif -%}
{%- endmacro %}
