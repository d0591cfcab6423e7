{#-
    Returns the end of a compiled Python model. It contains the results of the calls of dbt.ip_changes() and similar
    methods and, in a microbatch, the rows that the calls of dbt.ref() read.
-#}
{% macro py_script_comment() -%}
# dbt runs the code above, and then model(dbtObj(spark.table), spark).
ip_reads = {{ adapter.ip.python.reads(model, ref, source, _ip_context()) }}
batch_reads = {{ adapter.ip.python.batch(model, ref) }}
{%- endmacro %}
