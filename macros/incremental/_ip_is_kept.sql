{#- Whether a row of a changelog is in the table afterwards. -#}
{% macro _ip_is_kept() -%}
    case
        when _change_type in ('INSERT', 'UPDATE_AFTER') then true
        when _change_type in ('DELETE', 'UPDATE_BEFORE') then false
        else raise_error(concat('_change_type is ', coalesce(_change_type, 'NULL'),
            ', expected INSERT, UPDATE_BEFORE, UPDATE_AFTER or DELETE'))
    end
{%- endmacro %}
