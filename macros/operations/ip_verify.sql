{% macro ip_verify(select=none, model=none, sample=none, format="text") -%}
    {%- do adapter.ip.capture.require_arguments("ip_verify", varargs, kwargs) -%}
    {%- if execute -%}
        {%- set arguments = {"select": select, "model": model, "sample": sample, "format": format} -%}
        {%- set report = adapter.ip.verify.verify(graph, arguments) -%}
        {%- if format == "json" -%} {{ print(report.shown) }}
        {%- else -%} {%- do log(report.shown, info=true) -%}
        {%- endif -%}
        {%- do adapter.ip.verify.require_equal(report) -%}
    {%- endif -%}
{%- endmacro %}
