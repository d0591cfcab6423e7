{% macro spark_iceberg__persist_docs(relation, model, for_relation, for_columns) -%}
    {%- set columns = {} -%}
    {%- if for_columns and config.persist_column_docs() and model.columns -%}
        {%- set names = adapter.get_columns_in_relation(relation) | map(attribute="name") | list -%}
        {%- set columns = validate_doc_columns(relation, model.columns, names) -%}
    {%- endif -%}
    {%- set description = model.description if for_relation and config.persist_relation_docs() else none -%}
    {%- if execute -%}
        {%- for statement in adapter.relations.comments.statements(relation, description, columns) -%}
            {%- do run_query(statement) -%}
        {%- endfor -%}
    {%- endif -%}
{%- endmacro %}
