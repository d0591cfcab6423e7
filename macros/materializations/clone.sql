{#-
    Iceberg has no copy of a table in Spark that costs nothing. What is cloned becomes a view; with the config
    clone_as: table, a table becomes one with the same rows, made by one statement, which reads one snapshot. No clone
    has the checkpoint of a model.
-#}
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
    {%- if this.render() == defer_relation.render() -%}
        {%- if existing is none -%} {%- do exceptions.raise_compiler_error(_nothing_to_clone()) -%} {%- endif -%}
        {{ log("Target and state are the same, skipping clone for relation " ~ this.render(), info=true) }}
        {{ return({"relations": []}) }}
    {%- endif -%}
    {%- set cloned = load_cached_relation(defer_relation) -%}
    {%- set query = "select * from " ~ defer_relation.render() -%}
    {%- if cloned is not none and cloned.is_table and can_clone_table() -%}
        {%- set target_relation = this.incorporate(type="table") -%}
        {%- do _make_way(existing) -%}
        {%- set sql = _table_definition(target_relation) ~ " as " ~ query -%}
    {%- else -%}
        {%- set target_relation = this.incorporate(type="view") -%}
        {%- if existing and existing.is_table -%} {%- do adapter.drop_relation(existing) -%} {%- endif -%}
        {%- set sql = "create or replace view " ~ target_relation.render() ~ " as " ~ query -%}
    {%- endif -%}
    {%- call statement("main") -%} {{ sql }} {%- endcall -%}
    {%- do apply_grants(target_relation, config.get("grants"), should_revoke(existing, full_refresh_mode=true)) -%}
    {%- do persist_docs(target_relation, model) -%}
    {{ return({"relations": [target_relation]}) }}
{%- endmaterialization %}
