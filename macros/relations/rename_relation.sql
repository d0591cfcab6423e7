{#- The new name has no catalog, because Spark would treat the catalog as part of the namespace. -#}
{% macro spark_iceberg__rename_relation(from_relation, to_relation) -%}
    {%- call statement("rename_relation") -%}
        alter {{ "view" if from_relation.is_view else "table" }} {{ from_relation.render() }}
        rename to {{ to_relation.include(database=false).render() }}
    {%- endcall -%}
{%- endmacro %}
