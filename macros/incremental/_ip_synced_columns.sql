{#-
    Returns a target's columns under on_schema_change: all columns, the columns for which the new rows have values, and
    the changes for `_ip_alter_columns`. Alters nothing. `given`: the columns of the new rows.
-#}
{% macro _ip_synced_columns(given, target_relation) -%}
    {%- set columns = adapter.ip.write.table_columns(target_relation) -%}
    {%- set changes = adapter.ip.write.schema_changes(model, target_relation, given, columns) -%}
    {%- set columns = adapter.ip.write.altered_columns(changes, columns) -%}
    {{ return({"all": columns, "written": adapter.ip.write.written_columns(given, columns), "changes": changes}) }}
{%- endmacro %}
