{#- Returns the values of dbt's context that the adapter needs to compile the current model. -#}
{% macro _ip_context() -%}
    {{
        return(
            {
                "node": model,
                "this": this,
                "full_refresh": should_full_refresh(),
                "partial": flags.EMPTY or invocation_args_dict.get("sample") is not none,
                "command": flags.WHICH,
                "graph": graph,
                "selected": selected_resources,
            }
        )
    }}
{%- endmacro %}
