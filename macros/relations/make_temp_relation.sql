{#- Returns a temporary view, which belongs to the session and has neither catalog nor schema. -#}
{% macro spark_iceberg__make_temp_relation(base_relation, suffix) -%}
    {%- set path = {"identifier": base_relation.identifier ~ suffix} -%}
    {%- set relation = base_relation.incorporate(path=path, type="view") -%}
    {{ return(relation.include(database=false, schema=false)) }}
{%- endmacro %}
