{#- Executes the changes to a target's columns that `_ip_synced_columns` has determined. -#}
{% macro _ip_alter_columns(target_relation, changes) -%}
    {%- if changes.alters -%}
        {%- do alter_relation_add_remove_columns(target_relation, changes.added, changes.removed) -%}
        {%- for column in changes.retyped -%}
            {%- do alter_column_type(target_relation, column.name, column.dtype) -%}
        {%- endfor -%}
    {%- endif -%}
{%- endmacro %}
