{#-
    Returns the query of a model's new rows, checked against its contract. If the SQL returns a changelog, as for
    apply_changes and history, `changelog` is a view of it, and the query returns the rows for the table. `columns`: the
    columns of the rows. None if a view is necessary to determine them.
-#}
{% macro _ip_new_rows(compiled_code) -%}
    {%- if adapter.ip.model.takes_changelog(model) -%}
        {%- set changelog = _ip_changelog_view(compiled_code) -%}
        {%- if adapter.ip.history.is_history(model) -%}
            {%- set columns = adapter.ip.history.columns(model, changelog["columns"]) -%}
            {%- set built = adapter.ip.history.built_rows(model, changelog["relation"], columns) -%}
            {{ return({"sql": built, "changelog": changelog["relation"], "columns": columns}) }}
        {%- endif -%}
        {%- set kept = adapter.ip.write.kept_rows(changelog["relation"]) -%}
        {{ return({"sql": kept, "changelog": changelog["relation"], "columns": changelog["columns"]}) }}
    {%- endif -%}
    {%- do _run_sql_header() -%}
    {{ return({"sql": _contract_query(compiled_code), "changelog": none, "columns": none}) }}
{%- endmacro %}
