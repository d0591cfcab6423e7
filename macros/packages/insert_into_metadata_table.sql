{#- dbt_artifacts: inserts rows. The package passes timestamps as strings, which Iceberg tables refuse. -#}
{% macro spark_iceberg__insert_into_metadata_table(relation, fields, content) -%}
    {%- if execute -%}
        {%- do run_query(adapter.relations.inserts.query(relation, fields, content)) -%}
    {%- endif -%}
{%- endmacro %}
