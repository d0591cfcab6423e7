{#- Makes the not_null columns of the model's contract NOT NULL in a new table. -#}
{% macro _require_not_null(relation) -%}
    {%- if config.get("contract").enforced -%}
        {%- do adapter.relations.contracts.require_not_null(model, relation) -%}
    {%- endif -%}
{%- endmacro %}
