{#- Executes the statements of a sql_header, by default the model's, one by one, as Spark requires. -#}
{% macro _run_sql_header(header=none) -%}
    {%- set header = header or config.get("sql_header") -%}
    {%- if header and execute -%}
        {%- for statement in adapter.relations.sql_statements(header) -%}
            {%- do adapter.execute(statement) -%}
        {%- endfor -%}
    {%- endif -%}
{%- endmacro %}
