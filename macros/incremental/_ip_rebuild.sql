{% macro _ip_rebuild(target_relation, existing_relation, compiled_code) -%}
    {%- do make_way(existing_relation) -%}
    {%- set sql = create_table_as(false, target_relation, compiled_code) -%}
    {%- do write(sql) -%}
    {{ return(adapter.ip_rebuild(model, sql)) }}
{%- endmacro %}
