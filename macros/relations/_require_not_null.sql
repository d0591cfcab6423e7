{#- Of a table that was just made: has the columns NOT NULL that the model's contract declares so. -#}
{% macro _require_not_null(relation) -%}
    {%- if config.get("contract").enforced -%}
        {%- do adapter.relations.contracts.require_not_null(model, relation) -%}
    {%- endif -%}
{%- endmacro %}
