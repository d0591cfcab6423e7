{% macro ip_set_checkpoint(model=none, source=none, snapshot_id=none, timestamp=none, accept_sql=false) -%}
    {%- do adapter.ip.capture.require_arguments("ip_set_checkpoint", varargs, kwargs) -%}
    {%- if execute -%}
        {%- set arguments = {
            "model": model,
            "source": source,
            "snapshot_id": snapshot_id,
            "timestamp": timestamp,
            "accept_sql": accept_sql,
        } -%}
        {%- do log(adapter.ip.operations.set_checkpoint(graph, arguments), info=true) -%}
    {%- endif -%}
{%- endmacro %}
