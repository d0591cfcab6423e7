{% macro _ip_rebuild(target_relation, existing_relation, compiled_code) -%}
    {%- do adapter.ip.model.require_replaceable(model, existing_relation, should_full_refresh()) -%}
    {%- set given = _ip_new_rows(compiled_code) -%}
    {%- set rows = given["sql"] -%}
    {%- do adapter.ip.write.require_settings(model) -%}
    {%- set new_rows = make_temp_relation(target_relation, "__ip_changes") -%}
    {%- if adapter.ip.model.is_keyed(model) -%}
        {%- do adapter.ip.write.create_view(new_rows, rows) -%}
        {%- set columns = adapter.get_columns_in_relation(new_rows) -%}
        {%- set rows = adapter.ip.write.built_rows(model, new_rows, columns, given["changelog"]) -%}
    {%- elif adapter.ip.model.is_plain(model) -%}
        {%- set rows = adapter.ip.auto.built_rows(model, rows) -%}
    {%- elif adapter.ip.write.may_be_unreadable(model, rows) -%}
        {%- do adapter.ip.write.create_view(new_rows, rows) -%}
        {%- do adapter.ip.write.require_readable(model, adapter.get_columns_in_relation(new_rows)) -%}
    {%- elif existing_relation is not none and existing_relation.is_view -%}
        {#- The view is dropped before the build. Spark analyzes the SQL first, so that wrong SQL does not drop it. -#}
        {%- do adapter.ip.write.create_view(new_rows, rows) -%}
    {%- endif -%}
    {%- set properties = adapter.ip.model.table_properties(model) -%}
    {%- set rows = adapter.ip.audit.audited_rows(model, rows, properties) -%}
    {%- set rows = adapter.relations.tables.in_order(model, rows) -%}
    {%- set sql = _table_definition(target_relation, tblproperties=properties) ~ "\nas\n" ~ rows -%}
    {%- do _make_way(existing_relation) -%}
    {%- do write(sql) -%}
    {{ return(adapter.ip.write.rebuild(model, sql)) }}
{%- endmacro %}
