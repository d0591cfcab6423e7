{% macro spark_iceberg__create_schema(relation) -%}
    {%- call statement("create_schema") -%}
        create schema if not exists {{ relation.without_identifier().render() }}
    {%- endcall -%}
{%- endmacro %}
