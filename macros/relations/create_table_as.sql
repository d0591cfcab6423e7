{% macro spark_iceberg__create_table_as(temporary, relation, compiled_code, language="sql") -%}
    {%- do _run_sql_header() -%}
    {%- set query = _contract_query(compiled_code) -%}
    {%- if temporary -%} {{ create_temporary_view(relation, query) }}
    {%- else -%}
        {{ _table_definition(relation) }}
        as
        {{ adapter.relations.tables.in_order(model, query) }}
    {%- endif -%}
{%- endmacro %}
