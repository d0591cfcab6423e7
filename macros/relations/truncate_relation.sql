{% macro spark_iceberg__truncate_relation(relation) -%}
    {%- call statement("truncate_relation") -%}
        truncate table {{ relation.render() }}
    {%- endcall -%}
{%- endmacro %}
