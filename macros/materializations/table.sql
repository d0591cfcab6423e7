{#-
    CREATE OR REPLACE TABLE AS: readers see the old table until the new one is complete, and keep the old one if the
    query fails.
-#}
{% materialization table, adapter="spark_iceberg", supported_languages=["sql", "python"] -%}
    {%- do adapter.require_sql(model) -%}
    {%- set existing = load_cached_relation(this) -%}
    {%- set target_relation = this.incorporate(type="table") -%}
    {{ run_hooks(pre_hooks) }}

    {%- do _make_way(existing) -%}
    {%- call statement("main") -%}
        {{ create_table_as(false, target_relation, compiled_code) }}
    {%- endcall -%}
    {%- do store_result("main", response=adapter.build_response(target_relation, load_result("main").response)) -%}

    {%- do apply_grants(target_relation, config.get("grants"), should_revoke(existing, full_refresh_mode=true)) -%}
    {%- do persist_docs(target_relation, model) -%}
    {{ run_hooks(post_hooks) }}
    {{ return({"relations": [target_relation]}) }}
{%- endmaterialization %}
