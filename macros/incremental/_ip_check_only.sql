{#- Has Spark analyse a model's SQL, by making a view of it: no row is read or written. -#}
{% macro _ip_check_only(compiled_code) -%}
    {%- set rows = _ip_new_rows(compiled_code) -%}
    {%- if rows["changelog"] is none -%}
        {%- do run_query(create_temporary_view(make_temp_relation(this, "__ip_changes"), rows["sql"])) -%}
    {%- endif -%}
    {{ return(adapter.ip_finish(model)) }}
{%- endmacro %}
