{% macro _ip_run_sql_header() -%}
    {#- Spark takes one statement at a time, so the header cannot stand before the model's own. -#}
    {%- set sql_header = config.get("sql_header") -%}
    {%- if sql_header is not none -%}
        {%- call statement("sql_header") -%} {{ sql_header }} {%- endcall -%}
    {%- endif -%}
{%- endmacro %}
