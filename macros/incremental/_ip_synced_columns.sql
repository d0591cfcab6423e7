{#- Brings a target's columns up to on_schema_change; gives all of them, and those that the new rows go into. -#}
{% macro _ip_synced_columns(new_rows, target_relation, on_schema_change) -%}
    {%- set given = adapter.get_columns_in_relation(new_rows) -%}
    {%- set columns = adapter.get_columns_in_relation(target_relation) -%}
    {%- set changes = adapter.ip_schema_changes(model, target_relation, on_schema_change, given, columns) -%}
    {%- if changes.alters -%}
        {%- do alter_relation_add_remove_columns(target_relation, changes.added, changes.removed) -%}
        {%- for column in changes.retyped -%}
            {%- do alter_column_type(target_relation, column.name, column.dtype) -%}
        {%- endfor -%}
        {%- set columns = adapter.get_columns_in_relation(target_relation) -%}
    {%- endif -%}
    {{ return({"all": columns, "written": adapter.ip_written_columns(given, columns)}) }}
{%- endmacro %}
