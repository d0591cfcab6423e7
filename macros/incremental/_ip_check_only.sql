{#- Has Spark analyse a model's SQL, and compares its columns with the table's: no row is read or written. -#}
{% macro _ip_check_only(target_relation, compiled_code) -%}
    {%- set rows = _ip_new_rows(compiled_code) -%}
    {%- set new_rows = make_temp_relation(target_relation, "__ip_changes") -%}
    {%- do run_query(create_temporary_view(new_rows, rows["sql"])) -%}
    {%- set synced = _ip_synced_columns(new_rows, target_relation, config.get("on_schema_change") or "ignore") -%}
    {{ return(adapter.ip.write.finish(model)) }}
{%- endmacro %}
