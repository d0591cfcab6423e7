{% macro _ip_rebuild(target_relation, existing_relation, compiled_code) -%}
    {#- A table is replaced atomically, and never dropped first. A view cannot be replaced by a table. -#}
    {%- if existing_relation is not none and existing_relation.is_view -%}
        {%- do adapter.drop_relation(existing_relation) -%}
    {%- endif -%}
    {%- do _ip_run_sql_header() -%}
    {%- set sql = create_table_as(false, target_relation, compiled_code) -%}
    {%- do write(sql) -%}
    {{ return(adapter.ip_rebuild(model, sql)) }}
{%- endmacro %}
