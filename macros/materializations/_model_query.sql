{#-
    Returns the query of a model's rows: its SQL or, for a Python model, SQL that reads the result of its code, which is
    executed first. `once`: whether the rows must be computed only once, because several statements read them.
-#}
{% macro _model_query(compiled_code, once=false) -%}
    {%- if model.language != "python" -%} {{ return(compiled_code) }} {%- endif -%}
    {{ return(adapter.ip.python.run(model, compiled_code, make_temp_relation(this, "__dbt_python"), once)) }}
{%- endmacro %}
