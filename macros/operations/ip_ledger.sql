{% macro ip_ledger(model=none, epoch=none, format="text", select=none) -%}
    {%- do adapter.ip.capture.require_arguments("ip_ledger", varargs, kwargs) -%}
    {%- if execute -%}
        {%- set arguments = {"model": model, "epoch": epoch, "format": format, "select": select} -%}
        {%- set found = adapter.ip.operations.ledger(graph, arguments) -%}
        {%- if format == "json" or epoch is not none -%} {{ print(found) }}
        {%- else -%} {%- do log(found, info=true) -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro %}
