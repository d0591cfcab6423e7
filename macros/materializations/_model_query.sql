{#-
    The query of a model's rows: its SQL or, after running a Python model, the SQL that reads its result. `once`:
    whether several statements read the rows.
-#}
{% macro _model_query(compiled_code, once=false) -%}
    {%- if model.language != "python" -%} {{ return(compiled_code) }} {%- endif -%}
    {{ return(adapter.ip.python.run(model, compiled_code, make_temp_relation(this, "__dbt_python"), once)) }}
{%- endmacro %}
