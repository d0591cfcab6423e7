{#- Warns, as dbt does, about constraints of a model's contract that Iceberg does not support. -#}
{% macro _note_constraints() -%}
    {%- do adapter.render_raw_columns_constraints(raw_columns=model["columns"]) -%}
    {%- do adapter.render_raw_model_constraints(raw_constraints=model["constraints"]) -%}
{%- endmacro %}
