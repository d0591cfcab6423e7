{% macro _ip_rebuild(target_relation, existing_relation, compiled_code) -%}
    {%- do adapter.ip_require_replaceable(model, existing_relation, should_full_refresh()) -%}
    {%- set given = _ip_new_rows(compiled_code) -%}
    {%- set rows = given["sql"] -%}
    {%- do adapter.require_settings(model) -%}
    {%- set new_rows = make_temp_relation(target_relation, "__ip_changes") -%}
    {%- if adapter.ip_is_keyed(model) -%}
        {%- do run_query(create_temporary_view(new_rows, rows)) -%}
        {%- set columns = adapter.get_columns_in_relation(new_rows) -%}
        {%- set keys = adapter.ip_key_columns(config.get("unique_key"), columns) -%}
        {%- do adapter.ip_require_merge_columns(columns, config) -%}
        {%- do adapter.ip_require_uncollated(model, columns) -%}
        {%- if adapter.ip_has_sequence(model) -%}
            {%- set source = given["changelog"] or new_rows -%}
            {%- set rows = adapter.ip_newest_rows(model, source, columns, _ip_is_kept()) -%}
        {%- else -%}
            {%- set ordered = adapter.ip_in_key_order(model, new_rows.render(), columns) -%}
            {%- set rows = _ip_unique_rows(ordered, keys, nulls=given["changelog"] is not none) -%}
        {%- endif -%}
    {%- elif existing_relation is not none and existing_relation.is_view -%}
        {#- Only a view is dropped first: not for SQL that Spark cannot even analyse. -#}
        {%- do run_query(create_temporary_view(new_rows, rows)) -%}
    {%- endif -%}
    {%- set properties = adapter.ip_table_properties(model) -%}
    {%- set rows = adapter.ip_audited_rows(model, rows, properties) -%}
    {%- set sql = _table_definition(target_relation, tblproperties=properties) ~ "\nas\n" ~ rows -%}
    {%- do _make_way(existing_relation) -%}
    {%- do write(sql) -%}
    {{ return(adapter.ip_rebuild(model, sql)) }}
{%- endmacro %}
