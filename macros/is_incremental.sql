{% macro is_incremental() -%}
    {%- if not execute -%} {{ return(false) }} {%- endif -%}
    {%- if model.config.materialized == "iceberg_incremental_snapshot" -%}
        {{ return(adapter.ip.capture.is_incremental(_ip_context())) }}
    {%- endif -%}
    {%- set existing = adapter.get_relation(this.database, this.schema, this.identifier) -%}
    {{
        return(
            model.config.materialized == "incremental"
            and existing is not none
            and existing.is_table
            and not should_full_refresh()
        )
    }}
{%- endmacro %}
