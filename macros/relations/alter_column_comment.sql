{% macro spark_iceberg__alter_column_comment(relation, column_dict) -%}
    {%- if execute -%}
        {%- for statement in adapter.relations.comments.statements(relation, none, column_dict) -%}
            {%- do run_query(statement) -%}
        {%- endfor -%}
    {%- endif -%}
{%- endmacro %}
