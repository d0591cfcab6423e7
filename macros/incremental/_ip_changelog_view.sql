{#-
    Creates a temporary view of the changelog that a model returns for apply_changes or history. Checks that the SQL
    returns _change_type, and applies the contract to the other columns, which are returned as `columns`. The rows of
    a log of events without _change_type are inserts.
-#}
{% macro _ip_changelog_view(compiled_code) -%}
    {%- set changelog = make_temp_relation(this, "__ip_changelog") -%}
    {%- do _run_sql_header() -%}
    {%- do adapter.ip.write.create_view(changelog, compiled_code) -%}
    {%- set given = adapter.get_columns_in_relation(changelog) -%}
    {%- if adapter.ip.history.lacks_change_type(model, given) -%}
        {%- set events = "select *, 'INSERT' as _change_type from (" ~ compiled_code ~ "\n) as model_subq" -%}
        {%- do adapter.ip.write.create_view(changelog, events) -%}
        {%- set given = adapter.get_columns_in_relation(changelog) -%}
    {%- endif -%}
    {%- set kept = adapter.ip.write.kept_columns(given, model.unique_id) -%}
    {%- if config.get("contract").enforced -%}
        {%- do get_assert_columns_equivalent("select * except (_change_type) from " ~ changelog.render()) -%}
        {%- do _note_constraints() -%}
        {%- set columns = adapter.relations.contracts.select_list(model) + ["_change_type"] -%}
        {%- set checked = "select " ~ columns | join(", ") ~ " from (" ~ compiled_code ~ "\n) as model_subq" -%}
        {%- do adapter.ip.write.create_view(changelog, checked) -%}
        {%- set kept = adapter.ip.write.kept_columns(adapter.get_columns_in_relation(changelog), model.unique_id) -%}
    {%- endif -%}
    {{ return({"relation": changelog, "columns": kept}) }}
{%- endmacro %}
