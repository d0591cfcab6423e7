{% macro _ip_check_only(compiled_code) -%}
    {#- Making a view has Spark analyse the SQL; no row is read or written. -#}
    {%- do run_query(create_table_as(true, make_temp_relation(this, "__ip_changes"), compiled_code)) -%}
    {{ return(adapter.ip_finish(model)) }}
{%- endmacro %}
