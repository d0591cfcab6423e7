{% macro spark_iceberg__create_view_as(relation, sql) -%}
    {%- do _run_sql_header() -%}
    {%- if config.get("contract").enforced -%}
        {%- do get_assert_columns_equivalent(sql) -%}
    {%- endif -%}
    create or replace view {{ relation.render() }}
    {% if config.persist_column_docs() and model.columns -%}
        {%- set columns = get_columns_in_query(sql) -%}
        {%- do validate_doc_columns(relation, model.columns, columns) -%}
        ({{ adapter.relations.comments.view_columns(columns, model.columns) | join(", ") }})
    {%- endif %}
    {{ comment_clause() }}
    as
    {{ sql }}
{%- endmacro %}
