{#-
    The query of a model's rows: its SQL; of a model in Python, which is run, the SQL that reads its result.
    `once`: several statements read the rows.
-#}
{% macro _model_query(compiled_code, once=false) -%}
    {%- if model.language != "python" -%} {{ return(compiled_code) }} {%- endif -%}
    {{ return(adapter.ip.python.run(model, compiled_code, make_temp_relation(this, "__dbt_python"), once)) }}
{%- endmacro %}
