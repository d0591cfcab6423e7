{% macro _ip_read(macro_name, relation, unique_key=none) -%}
    {#- While dbt parses, the argument alone matters: its ref() or source() has been recorded as lineage. -#}
    {%- if not execute -%} {{ return(relation) }} {%- endif -%}
    {%- set partial = flags.EMPTY or invocation_args_dict.get("sample") is not none -%}
    {{
        return(
            adapter.ip_read(
                macro_name, relation, model, this, should_full_refresh(), partial, flags.WHICH, graph, unique_key
            )
        )
    }}
{%- endmacro %}
