{#-
    The end of a model in Python as dbt compiles it: what its calls of dbt.ip_changes() and the like stand for, and in a
    batch what its dbt.ref() read.
-#}
{% macro py_script_comment() -%}
# dbt runs the code above, and then model(dbtObj(spark.table), spark).
ip_reads = {{ adapter.ip.python.reads(model, ref, source, _ip_context()) }}
batch_reads = {{ adapter.ip.python.batch(model, ref) }}
{%- endmacro %}
