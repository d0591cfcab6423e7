{#- The rows of a changelog that are in the table afterwards, in the table's columns. -#}
{% macro _ip_kept_rows(changelog) -%}
    select * except (_change_type) from {{ changelog.render() }} where {{ _ip_is_kept() }}
{%- endmacro %}
