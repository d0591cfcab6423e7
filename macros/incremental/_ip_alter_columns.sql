{#- Alters a target's columns as determined by `_ip_synced_columns`. -#}
{% macro _ip_alter_columns(target_relation, changes) -%}
    {%- if changes.alters -%}
        {%- do alter_relation_add_remove_columns(target_relation, changes.added, changes.removed) -%}
        {%- for column in changes.retyped -%}
            {%- do alter_column_type(target_relation, column.name, column.dtype) -%}
        {%- endfor -%}
    {%- endif -%}
{%- endmacro %}
