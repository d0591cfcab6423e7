{% macro spark_iceberg__drop_relation(relation) -%}
    {%- call statement("drop_relation", auto_begin=false) -%}
        drop {{ "view" if relation.is_view else "table" }} if exists {{ relation.render() }}
    {%- endcall -%}
{%- endmacro %}
