{#- The batch's window of the target gives way to the batch's rows, however the table is partitioned. -#}
{% macro spark_iceberg__get_incremental_microbatch_sql(arg_dict) -%}
    {%- set event_time = adapter.ip_quoted(model.config.event_time) -%}
    delete from {{ arg_dict["target_relation"].render() }}
    where {{ event_time }} >= '{{ model.batch.event_time_start }}'
    and {{ event_time }} < '{{ model.batch.event_time_end }}'
    {% for predicate in arg_dict["incremental_predicates"] %} and {{ predicate }} {% endfor %};
    {{ get_incremental_append_sql(arg_dict) }}
{%- endmacro %}
