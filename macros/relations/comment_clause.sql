{% macro spark_iceberg__comment_clause() -%}
    {%- if config.persist_relation_docs() and model.description -%}
        comment {{ adapter.relations.sql_string(model.description) }}
    {%- endif -%}
{%- endmacro %}
