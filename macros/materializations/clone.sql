{#-
    Clones a table without copying its files. The new table uses the same files, and has a separate folder for later
    writes. It has the checkpoint of its origin, so the model's next run continues from there. With clone_as: table, one
    statement copies the rows of one snapshot. With clone_as: view, the clone is a view.
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
    {%- set origin = load_cached_relation(defer_relation) -%}
    {%- set way = adapter.ip.clones.way(model, origin, existing) -%}
    {%- set query = "select * from " ~ defer_relation.render() -%}
    {%- if way == "view" -%}
        {%- set target_relation = this.incorporate(type="view") -%}
        {%- if existing and existing.is_table -%} {%- do adapter.drop_relation(existing) -%} {%- endif -%}
        {%- set sql = "create or replace view " ~ target_relation.render() ~ " as " ~ query -%}
    {%- else -%}
        {%- set target_relation = this.incorporate(type="table") -%}
        {%- if way == "clone" -%}
            {%- do adapter.ip.clones.make(model, origin, target_relation, existing) -%}
        {%- else -%}
            {%- do _make_way(existing) -%}
            {%- set sql = _table_definition(target_relation) ~ " as " ~ query -%}
        {%- endif -%}
    {%- endif -%}
    {%- if way == "clone" -%} {%- do store_raw_result("main", message="OK", code="OK", rows_affected=none) -%}
    {%- else -%}
        {%- call statement("main") -%} {{ sql }} {%- endcall -%}
        {%- if way != "view" -%} {%- do _complete_table(target_relation) -%} {%- endif -%}
    {%- endif -%}
    {%- do apply_grants(target_relation, config.get("grants"), should_revoke(existing, full_refresh_mode=true)) -%}
    {%- do persist_docs(target_relation, model) -%}
    {{ return({"relations": [target_relation]}) }}
{%- endmaterialization %}
