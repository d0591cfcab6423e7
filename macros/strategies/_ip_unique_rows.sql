{#-
    The rows of a relation or of a parenthesised query; it fails where two of them have the same key. A key with a NULL
    in it is none, unless `nulls` says that NULL is a value like any other.
-#}
{% macro _ip_unique_rows(rows, keys, nulls=false) -%}
    select * except (DBT_INTERNAL_COUNT)
    from (
        select *, count(*) over (partition by {{ keys | join(", ") }}) as DBT_INTERNAL_COUNT
        from {{ rows }}
    )
    where case
        when DBT_INTERNAL_COUNT = 1 then true
        {%- if not nulls %}
        when {{ keys | join(" is null or ") }} is null then true
        {%- endif %}
        else {{ adapter.ip_raise_duplicate_key(model, keys, "DBT_INTERNAL_COUNT") }}
    end
{%- endmacro %}
