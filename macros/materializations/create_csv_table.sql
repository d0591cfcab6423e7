{#- Creates the table of a seed without rows. For other seeds, load_csv_rows creates it with the first rows. -#}
{% macro spark_iceberg__create_csv_table(model, agate_table) -%}
    {%- set columns = adapter.relations.seeds.columns(agate_table, model["config"]) -%}
    {%- set sql = _table_definition(this, columns | join(", ")) -%}
    {%- if agate_table.rows | length == 0 -%}
        {%- call statement("_") -%} {{ sql }} {%- endcall -%}
    {%- endif -%}
    {{ return(sql) }}
{%- endmacro %}
