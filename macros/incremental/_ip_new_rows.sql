{#-
    The query of the rows that a model's SQL returns for its table, checked against its contract. For apply_changes, the
    SQL returns a changelog: `changelog` is a view of it, and the query returns its rows that are kept. `columns`: the
    columns of the rows, if they are known without a view.
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
