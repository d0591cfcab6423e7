{% macro spark_iceberg__get_columns_in_relation(relation) %}
  {% do return(adapter.get_columns_in_relation(relation)) %}
{% endmacro %}
