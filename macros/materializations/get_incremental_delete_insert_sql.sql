{# Two statements, which the materialization runs one after the other. #}
{% macro spark_iceberg__get_incremental_delete_insert_sql(arg_dict) %}
  {% set target, source = arg_dict['target_relation'].render(), arg_dict['temp_relation'].render() %}
  {% set keys = arg_dict['unique_key'] %}
  {% if keys %}
    delete from {{ target }} as DBT_INTERNAL_DEST
    where exists (
      select 1 from {{ source }} as DBT_INTERNAL_SOURCE where
      {% for key in ([keys] if keys is string else keys) %}
        DBT_INTERNAL_SOURCE.{{ adapter.ip_quoted(key) }} = DBT_INTERNAL_DEST.{{ adapter.ip_quoted(key) }} and
      {% endfor %} true
    )
    {% for predicate in arg_dict['incremental_predicates'] %} and {{ predicate }} {% endfor %};
  {% endif %}
  {{ get_incremental_append_sql(arg_dict) }}
{% endmacro %}
