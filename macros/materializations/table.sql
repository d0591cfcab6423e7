{#-
    dbt's table materialization, as CREATE OR REPLACE TABLE AS. Readers see the old table until the new one is complete.
    If the query fails, the old table remains.
-#}
{% materialization table, adapter="spark_iceberg", supported_languages=["sql", "python"] -%}
    {%- set existing = load_cached_relation(this) -%}
    {%- set target_relation = this.incorporate(type="table") -%}
    {%- do adapter.ip.dbt_models.begin(model) -%}
    {{ run_hooks(pre_hooks) }}

    {%- set query = _model_query(compiled_code) -%}
    {%- do _make_way(existing) -%}
    {%- call statement("main") -%}
        {{ create_table_as(false, target_relation, query) }}
    {%- endcall -%}
    {%- set response = adapter.ip.dbt_models.build_response(target_relation, load_result("main").response) -%}
    {%- do store_result("main", response=response) -%}

    {%- do _complete_table(target_relation) -%}
    {%- do apply_grants(target_relation, config.get("grants"), should_revoke(existing, full_refresh_mode=true)) -%}
    {%- do persist_docs(target_relation, model) -%}
    {{ run_hooks(post_hooks) }}
    {{ return({"relations": [target_relation]}) }}
{%- endmaterialization %}
