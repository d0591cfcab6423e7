{#- Lets Spark analyze a model's SQL, and compares its columns with the table's. Reads and writes no rows. -#}
{% macro _ip_check_only(target_relation, compiled_code) -%}
    {%- set rows = _ip_new_rows(compiled_code) -%}
    {%- set new_rows = make_temp_relation(target_relation, "__ip_changes") -%}
    {%- do adapter.ip.write.create_view(new_rows, rows["sql"]) -%}
    {%- set given = rows["columns"] or adapter.get_columns_in_relation(new_rows) -%}
    {%- set synced = _ip_synced_columns(given, target_relation) -%}
    {{ return(adapter.ip.write.finish(model)) }}
{%- endmacro %}
