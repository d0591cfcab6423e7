{% macro spark_iceberg__create_temporary_view(relation, compiled_code) -%}
    create or replace temporary view {{ relation.include(database=false, schema=false).render() }} as
    {{ compiled_code }}
{%- endmacro %}
