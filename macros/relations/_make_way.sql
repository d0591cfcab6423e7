{#- Drops a relation that a new table cannot replace: a view, or a table of another format. -#}
{% macro _make_way(existing) -%}
    {%- if existing is not none -%}
        {%- set file_format = config.get("file_format") or "iceberg" -%}
        {%- if (
            existing.is_view
            or not _replaces_tables()
            or adapter.relations.lookup.provider(existing) != file_format
        ) -%}
            {%- do adapter.drop_relation(existing) -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro %}
