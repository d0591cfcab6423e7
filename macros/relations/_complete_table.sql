{#-
    Completes a new table: columns that are not_null in the model's contract become NOT NULL, and later writers sort the
    rows of each file as in sort_by.
-#}
{% macro _complete_table(relation) -%}
    {%- if config.get("contract").enforced -%}
        {%- do adapter.relations.contracts.require_not_null(model, relation) -%}
    {%- endif -%}
    {%- set order = adapter.relations.tables.write_order(model) -%}
    {%- if order is not none -%}
        {%- do run_query("alter table " ~ relation.render() ~ " " ~ order.clause) -%}
    {%- endif -%}
{%- endmacro %}
