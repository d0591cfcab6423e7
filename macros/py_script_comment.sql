{#-
    The end of a compiled Python model: the results of its calls of dbt.ip_changes() and similar methods and, in a
    batch, the rows that its dbt.ref() calls read.
-#}
{% macro py_script_comment() -%}
# dbt runs the code above, and then model(dbtObj(spark.table), spark).
ip_reads = {{ adapter.ip.python.reads(model, ref, source, _ip_context()) }}
batch_reads = {{ adapter.ip.python.batch(model, ref) }}
{%- endmacro %}
