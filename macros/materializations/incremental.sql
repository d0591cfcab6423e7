{#
  dbt's incremental model. A full refresh replaces the table atomically; a column that only one side has stops no
  statement; every strategy that has a get_incremental_<name>_sql macro works.
#}
{% materialization incremental, adapter='spark_iceberg', supported_languages=['sql', 'python'] %}
  {% do adapter.require_sql(model) %}
  {% set strategy = config.get('incremental_strategy') or 'append' %}
  {% set unique_key = config.get('unique_key') %}
  {# A merge that never matches only inserts. #}
  {% set strategy = 'append' if strategy == 'merge' and not unique_key else strategy %}
  {% set build_sql = adapter.get_incremental_strategy_macro(context, strategy) %}
  {% set on_schema_change = incremental_validate_on_schema_change(config.get('on_schema_change'), default='ignore') %}
  {% set predicates = config.get('predicates') or config.get('incremental_predicates') or [] %}
  {% set existing = load_cached_relation(this) %}
  {% set target_relation = this.incorporate(type='table') %}
  {% set rebuild = existing is none or existing.is_view or should_full_refresh() %}
  {{ run_hooks(pre_hooks) }}

  {% if rebuild %}
    {% do _make_way(existing) %}
    {% call statement('main') %}
      {{ create_table_as(false, target_relation, compiled_code) }}
    {% endcall %}
  {% else %}
    {% set new_rows = make_temp_relation(target_relation) %}
    {% do run_query(create_table_as(true, new_rows, compiled_code)) %}
    {% do process_schema_changes(on_schema_change, new_rows, target_relation) %}
    {% set columns = adapter.ip_written_columns(
      adapter.get_columns_in_relation(new_rows), adapter.get_columns_in_relation(target_relation)
    ) %}
    {% set sql = build_sql({
      'target_relation': target_relation, 'temp_relation': new_rows, 'unique_key': unique_key, 'dest_columns': columns,
      'incremental_predicates': [predicates] if predicates is string else predicates
    }) %}
    {% if strategy == 'insert_overwrite' %}
      {% do run_query('set spark.sql.sources.partitionOverwriteMode = dynamic') %}
    {% endif %}
    {% for one in adapter.sql_statements(sql) %}
      {% call statement('main') %}{{ one }}{% endcall %}
    {% endfor %}
    {% if strategy == 'insert_overwrite' %}
      {% do run_query('reset spark.sql.sources.partitionOverwriteMode') %}
    {% endif %}
  {% endif %}

  {% do apply_grants(target_relation, config.get('grants'), should_revoke(existing, full_refresh_mode=rebuild)) %}
  {% do persist_docs(target_relation, model) %}
  {{ run_hooks(post_hooks) }}
  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
