{#- A view of the table or view that is cloned: Iceberg has no copy of a table that costs nothing. -#}
{% materialization clone, adapter="spark_iceberg" -%}
    {%- if not defer_relation -%}
        {{ log("No relation found in state manifest for " ~ model.unique_id, info=true) }}
        {{ return({"relations": []}) }}
    {%- endif -%}
    {%- set existing = load_cached_relation(this) -%}
    {%- if existing and not flags.FULL_REFRESH -%}
        {{ log("Relation " ~ existing.render() ~ " already exists", info=true) }}
        {{ return({"relations": []}) }}
    {%- endif -%}
    {%- set target_relation = this.incorporate(type="view") -%}
    {%- if existing and existing.is_table -%}
        {%- do adapter.drop_relation(existing) -%}
    {%- endif -%}
    {%- call statement("main") -%}
        create or replace view {{ target_relation.render() }} as select * from {{ defer_relation.render() }}
    {%- endcall -%}
    {{ return({"relations": [target_relation]}) }}
{%- endmaterialization %}
