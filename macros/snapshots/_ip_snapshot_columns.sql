{#- Returns the names of dbt's own columns in the table of a snapshot. -#}
{% macro _ip_snapshot_columns() -%}
    {{ return(config.get("snapshot_table_column_names") or get_snapshot_table_column_names()) }}
{%- endmacro %}
