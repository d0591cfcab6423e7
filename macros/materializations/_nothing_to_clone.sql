{% macro _nothing_to_clone() -%}
    There is nothing to clone for {{ model.unique_id }}: the state has its table where this target has it, and it is not
    there. Expected: the manifest of another target's run. To fix: name its folder by --state, or run the model.
{%- endmacro %}
