{% macro ip_ledger(model, epoch=none, format="text") -%}
    {%- do adapter.ip_require_arguments("ip_ledger", varargs, kwargs) -%}
    {%- if execute -%}
        {%- set found = adapter.ip_ledger(graph, {"model": model, "epoch": epoch, "format": format}) -%}
        {%- if format == "json" or epoch is not none -%} {{ print(found) }}
        {%- else -%} {%- do log(found, info=true) -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro %}
