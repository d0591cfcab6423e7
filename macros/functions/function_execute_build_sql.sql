{% macro spark_iceberg__function_execute_build_sql(build_sql, existing_relation, target_relation) -%}
    {%- do store_result("main", response=adapter.relations.statements.create_function(build_sql, model.unique_id)) -%}
{%- endmacro %}
