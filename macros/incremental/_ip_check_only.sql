{% macro _ip_check_only(compiled_code) -%}
    {#- Making a view has Spark analyse the SQL; no row is read or written. -#}
    {%- if config.get("incremental_strategy") == "apply_changes" -%} {%- do _ip_changelog_view(compiled_code) -%}
    {%- else -%}
        {%- do run_query(create_table_as(true, make_temp_relation(this, "__ip_changes"), compiled_code)) -%}
    {%- endif -%}
    {{ return(adapter.ip_finish(model)) }}
{%- endmacro %}
