{#- Has Spark analyse a model's SQL, and compares its columns with the table's: no row is read or written. -#}
{% macro _ip_check_only(target_relation, compiled_code) -%}
    {%- set rows = _ip_new_rows(compiled_code) -%}
    {%- set new_rows = make_temp_relation(target_relation, "__ip_changes") -%}
    {%- do run_query(create_temporary_view(new_rows, rows["sql"])) -%}
    {%- do adapter.ip_schema_changes(
        model,
        target_relation,
        config.get("on_schema_change") or "ignore",
        adapter.get_columns_in_relation(new_rows),
        adapter.get_columns_in_relation(target_relation),
    ) -%}
    {%- if adapter.ip_strategy(model).name == "insert_overwrite" -%}
        {%- do adapter.ip_require_partitions(model, target_relation) -%}
    {%- endif -%}
    {{ return(adapter.ip_finish(model)) }}
{%- endmacro %}
