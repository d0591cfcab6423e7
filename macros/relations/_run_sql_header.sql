{#- Executes a sql_header, by default the model's, as separate statements, because Spark executes one at a time. -#}
{% macro _run_sql_header(header=none) -%}
    {%- set header = header or config.get("sql_header") -%}
    {%- if header and execute -%}
        {%- for statement in adapter.relations.sql_statements(header) -%}
            {%- do adapter.execute(statement) -%}
        {%- endfor -%}
    {%- endif -%}
{%- endmacro %}
