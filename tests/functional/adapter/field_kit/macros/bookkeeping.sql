{#- The work of packages at the end of a run: own tables and temporary views, and a row for each result. -#}
{% macro bookkeeping() -%}
    {%- if execute and flags.WHICH in ("run", "build") -%}
        {%- set model = graph.nodes.values() | selectattr("name", "equalto", "log_of_runs") | first -%}
        {%- set log = api.Relation.create(database=model.database, schema=model.schema, identifier=model.alias) -%}
        {%- set fresh = log.incorporate(path={"schema": none, "identifier": log.identifier ~ "__tmp"}) -%}
        {%- do run_query("create or replace temporary view " ~ fresh ~ " as " ~ field_kit.rows_of(results)) -%}
        {%- do run_query(
            "merge into " ~ log ~ " as target using " ~ fresh ~ " as source on target.node = source.node "
            ~ "when matched then delete;"
        ) -%}
        {%- do run_query("insert into " ~ log ~ " (node, status, at) select * from " ~ fresh) -%}
    {%- endif -%}
{%- endmacro %}

{% macro rows_of(results) -%}
    {%- for result in results -%}
        select '{{ result.node.unique_id }}' as node, '{{ result.status }}' as status,
            cast('{{ run_started_at }}' as {{ dbt.type_timestamp() }}) as at
        {{ "union all " if not loop.last }}
    {%- endfor -%}
{%- endmacro %}

{#- The methods of an adapter with which packages inspect schemas and relations. Returns the results. -#}
{% macro inspect(schema, known) -%}
    {%- set database = target.database -%}
    {%- set made = api.Relation.create(database=database, schema=schema, identifier="made") -%}
    {%- do adapter.create_schema(made) -%}
    {%- do run_query("create table " ~ made ~ " as select 1 as id") -%}
    {%- set renamed = api.Relation.create(database=database, schema=schema, identifier="renamed", type="table") -%}
    {%- do adapter.rename_relation(made.incorporate(type="table"), renamed) -%}
    {%- do adapter.truncate_relation(renamed) -%}
    {%- set relation = adapter.get_relation(database=database, schema=schema, identifier="renamed") -%}
    {%- set found = {
        "type": [target.type, adapter.type()],
        "catalog": [target.catalog, target.database],
        "schema_exists": adapter.check_schema_exists(database, schema),
        "relation": [relation.is_table, relation.is_view, relation.database, relation.name],
        "missing": adapter.get_missing_columns(known, relation) | map(attribute="name") | list,
        "rows": run_query("select count(*) from " ~ relation).columns[0].values()[0],
    } -%}
    {%- do adapter.drop_relation(relation) -%}
    {%- do adapter.drop_schema(made.without_identifier()) -%}
    {%- do found.update({"dropped": not adapter.check_schema_exists(database, schema)}) -%}
    {{ return(found) }}
{%- endmacro %}

{% macro report(schema, known) -%}
    {%- set known = api.Relation.create(database=target.database, schema=target.schema, identifier=known) -%}
    {%- do log("inspected " ~ tojson(field_kit.inspect(schema, known)), info=true) -%}
{%- endmacro %}
