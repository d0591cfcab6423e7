{% macro spark_iceberg__alter_relation_comment(relation, relation_comment) -%}
    comment on table {{ relation.render() }} is {{ adapter.relations.sql_string(relation_comment) }}
{%- endmacro %}
