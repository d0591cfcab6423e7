{% macro _ip_read(macro_name, relation, arguments={}) -%}
    {#- While dbt parses, the arguments alone matter: their ref() and source() have been recorded as lineage. -#}
    {%- if not execute -%} {{ return(relation) }} {%- endif -%}
    {%- set partial = flags.EMPTY or invocation_args_dict.get("sample") is not none -%}
    {{
        return(
            adapter.ip_read(
                macro_name,
                relation,
                model,
                this,
                should_full_refresh(),
                partial,
                flags.WHICH,
                graph,
                selected_resources,
                arguments,
            )
        )
    }}
{%- endmacro %}
