{% macro spark_iceberg__reset_csv_table(model, full_refresh, old_relation, agate_table) -%}
    {%- do _make_way(old_relation) -%}
    {{ return(create_csv_table(model, agate_table)) }}
{%- endmacro %}
