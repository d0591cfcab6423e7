{% macro columns_without(relation, left_out) -%}
    {%- set kept = [] -%}
    {%- for column in adapter.get_columns_in_relation(relation) if column.name not in left_out -%}
        {%- do kept.append(adapter.quote(column.name)) -%}
    {%- endfor -%}
    {{ return(kept | join(", ")) }}
{%- endmacro %}

{#- The rows of several relations, with all of their columns. A string column has the longest of its types. -#}
{% macro union_of(relations) -%}
    {%- if not execute -%} {{ return("select 1") }} {%- endif -%}
    {%- set types = {} -%}
    {%- set columns = {} -%}
    {%- for relation in relations -%}
        {%- do columns.update({relation: []}) -%}
        {%- for column in adapter.get_columns_in_relation(relation) -%}
            {%- do columns[relation].append(column.column) -%}
            {%- set other = types.get(column.column) -%}
            {%- set longer = other and column.is_string() and other.is_string() and column.string_size() > other.string_size() -%}
            {%- if other is none or longer -%} {%- do types.update({column.column: column}) -%} {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- for relation in relations %}
        select cast({{ dbt.string_literal(relation) }} as {{ dbt.type_string() }}) as origin
        {%- for name, column in types.items() %},
            cast({{ column.quoted if name in columns[relation] else "null" }} as {{ column.data_type }}) as {{ column.quoted }}
        {%- endfor %}
        from {{ relation }}
        {{ "union all" if not loop.last }}
    {%- endfor %}
{%- endmacro %}

{% macro surrogate_key(names) -%}
    {%- set parts = [] -%}
    {%- for name in names -%}
        {%- do parts.append("coalesce(" ~ dbt.safe_cast(name, dbt.type_string()) ~ ", '_null_')") -%}
        {%- if not loop.last -%} {%- do parts.append("'-'") -%} {%- endif -%}
    {%- endfor -%}
    {{ dbt.hash(dbt.concat(parts)) }}
{%- endmacro %}
