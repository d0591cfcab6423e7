{#- Run a sql_header, the model's if none is given, by statements of their own: Spark takes one at a time. -#}
{% macro _run_sql_header(header=none) -%}
    {%- set header = header or config.get("sql_header") -%}
    {%- if header and execute -%}
        {%- for statement in adapter.relations.sql_statements(header) -%}
            {%- do adapter.execute(statement) -%}
        {%- endfor -%}
    {%- endif -%}
{%- endmacro %}
