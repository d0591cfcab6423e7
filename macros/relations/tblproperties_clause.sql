{% macro spark_iceberg__tblproperties_clause(more={}) -%}
    {%- set properties = adapter.relations.tables.property_list(model, more) if execute else [] -%}
    {%- if properties -%} tblproperties ({{ properties | join(", ") }}) {%- endif -%}
{%- endmacro %}
