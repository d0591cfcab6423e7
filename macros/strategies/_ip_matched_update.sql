{#- The clause of a MERGE that updates matched rows; none where the config leaves no column to update. -#}
{% macro _ip_matched_update(columns) -%}
    {%- set updated = adapter.ip_updated_columns(columns, config) -%}
    {%- if updated -%}
    when matched then update set
        {% for column in updated -%}
            {{ column.quoted }} = DBT_INTERNAL_SOURCE.{{ column.quoted }}{{ ", " if not loop.last }}
        {%- endfor %}
    {%- endif -%}
{%- endmacro %}
