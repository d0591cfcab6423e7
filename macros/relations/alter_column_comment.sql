{% macro spark_iceberg__alter_column_comment(relation, column_dict) -%}
    {%- for statement in adapter.comment_statements(relation, none, column_dict) -%}
        {%- do run_query(statement) -%}
    {%- endfor -%}
{%- endmacro %}
