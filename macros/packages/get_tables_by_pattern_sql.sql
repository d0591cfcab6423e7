{#- dbt_utils: lists the tables that match ILIKE patterns. Spark has no information_schema. -#}
{% macro spark_iceberg__get_tables_by_pattern_sql(schema_pattern, table_pattern, exclude="", database=none) -%}
    {%- if execute -%}
        {{ return(adapter.relations.listing.query(database, schema_pattern, table_pattern, exclude)) }}
    {%- endif -%}
{%- endmacro %}
