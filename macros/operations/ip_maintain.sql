{% macro ip_maintain(
    select=none, model=none, format="text", dry_run=false, sources=false, max_snapshot_age=none, orphan_files=false
) -%}
    {%- do adapter.ip.capture.require_arguments("ip_maintain", varargs, kwargs) -%}
    {%- if execute -%}
        {%- set arguments = {
            "select": select,
            "model": model,
            "format": format,
            "dry_run": dry_run,
            "sources": sources,
            "max_snapshot_age": max_snapshot_age,
            "orphan_files": orphan_files,
        } -%}
        {%- set report = adapter.ip.operations.maintain(graph, arguments) -%}
        {%- if format == "json" -%} {{ print(report.shown) }}
        {%- else -%} {%- do log(report.shown, info=true) -%}
        {%- endif -%}
        {%- do adapter.ip.operations.require_maintained(report) -%}
    {%- endif -%}
{%- endmacro %}
