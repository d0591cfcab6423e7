{#
    Of one key at most one row goes into the MERGE: its new form, or else one deletion. NULL is a key like any other, so
    that the deletion of its row finds it.
#}
{% macro spark_iceberg__get_incremental_apply_changes_sql(arg_dict) -%}
    {%- set columns = arg_dict["dest_columns"] -%}
    {%- set listed = columns | map(attribute="quoted") | join(", ") -%}
    {%- set keys = adapter.ip_key_columns(arg_dict["unique_key"], columns) -%}
    {%- set conditions = [] -%}
    {%- for key in keys -%}
        {%- do conditions.append("DBT_INTERNAL_SOURCE." ~ key ~ " <=> DBT_INTERNAL_DEST." ~ key) -%}
    {%- endfor -%}
    merge into {{ arg_dict["target_relation"].render() }} as DBT_INTERNAL_DEST
    using (
        select *
        from (
            select
                {{ listed }},
                {{ _ip_is_kept() }} as DBT_INTERNAL_IS_KEPT,
                row_number() over (partition by {{ keys | join(", ") }} order by {{ _ip_is_kept() }} desc)
                    as DBT_INTERNAL_NUMBER
            from {{ arg_dict["changelog_relation"].render() }}
            where not (_change_type <=> 'UPDATE_BEFORE')
        )
        where case
            when DBT_INTERNAL_NUMBER = 1 then true
            when DBT_INTERNAL_IS_KEPT then raise_error({{ adapter.ip_duplicate_key(keys) }})
            else false
        end
    ) as DBT_INTERNAL_SOURCE
    on {{ (arg_dict["incremental_predicates"] + conditions) | join(" and ") }}
    when matched and not DBT_INTERNAL_SOURCE.DBT_INTERNAL_IS_KEPT then delete
    {{ _ip_matched_update(columns) }}
    when not matched and DBT_INTERNAL_SOURCE.DBT_INTERNAL_IS_KEPT then insert ({{ listed }})
        values (
            {%- for column in columns -%}
                DBT_INTERNAL_SOURCE.{{ column.quoted }}{{ ", " if not loop.last }}
            {%- endfor -%}
        )
{%- endmacro %}
