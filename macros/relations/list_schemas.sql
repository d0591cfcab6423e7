{% macro spark_iceberg__list_schemas(database) -%}
    {%- call statement("list_schemas", fetch_result=true, auto_begin=false) -%}
        show schemas in {{ adapter.quote(database) }}
    {%- endcall -%}
    {{ return(load_result("list_schemas").table) }}
{%- endmacro %}
