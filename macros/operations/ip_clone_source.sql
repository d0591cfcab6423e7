{% macro ip_clone_source(source=none, schema=none, retention=none, full_refresh=false) -%}
    {%- do adapter.ip.capture.require_arguments("ip_clone_source", varargs, kwargs) -%}
    {%- if execute -%}
        {%- set arguments = {
            "source": source,
            "schema": schema,
            "retention": retention,
            "full_refresh": full_refresh,
        } -%}
        {%- do log(adapter.ip.operations.clone_source(graph, arguments), info=true) -%}
    {%- endif -%}
{%- endmacro %}
