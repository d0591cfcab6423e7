{% test holds(model, expression) -%}
    {{ config(limit=10) }}
    select {{ "*" if should_store_failures() else "1" }} from {{ model }} where not ({{ expression }})
{%- endtest %}
