{% macro get_incremental_apply_changes_sql(arg_dict) -%}
    {{ return(adapter.dispatch("get_incremental_apply_changes_sql", "dbt")(arg_dict)) }}
{%- endmacro %}

{#-
    Where all columns of a row are replaced, the kept rows are only inserted here, and `is_kept` asks the caller to make
    the view of the changes that they come from, and to have the old ones deleted with them. Else it is one MERGE.

    Of each key one row goes into the MERGE: the one that is kept, or where none is, one that deletes the key: its row
    went, is filtered out, or has another key now. NULL is a key like any other: the deletion of its row must find it.
    An INSERT of a key that the table has, and that nothing deletes, is a second row of the key. So is an UPDATE_AFTER
    of ip_changelog, which comes with what the row was: under this key too, if it was in the table under it.
-#}
{% macro spark_iceberg__get_incremental_apply_changes_sql(arg_dict) -%}
    {%- set columns = arg_dict["dest_columns"] -%}
    {%- set listed = columns | map(attribute="quoted") | join(", ") -%}
    {%- set changelog = arg_dict["changelog_relation"] -%}
    {%- set replaces =
        adapter.ip_replaces(model, columns, arg_dict["target_columns"], arg_dict["incremental_predicates"]) -%}
    {%- if replaces and adapter.ip_can_hold(model, changelog) -%}
        {%- do arg_dict.update({"is_kept": _ip_is_kept()}) -%}
        {%- set sql -%}
            insert into {{ arg_dict["target_relation"].render() }} ({{ listed }})
            select {{ listed }}
            from {{ adapter.ip_changes_view(model) }}
            where DBT_INTERNAL_IS_KEPT
        {%- endset -%}
        {{ return(sql) }}
    {%- endif -%}
    {%- set keys = adapter.ip_key_columns(arg_dict["unique_key"], columns) -%}
    {%- set listed_keys = keys | join(", ") -%}
    {%- set is_new = "DBT_INTERNAL_IS_KEPT" if adapter.ip_shows_old_rows(model) else "DBT_INTERNAL_IS_INSERT" -%}
    {%- set conditions = [] -%}
    {%- for key in keys -%}
        {%- do conditions.append("DBT_INTERNAL_SOURCE." ~ key ~ " <=> DBT_INTERNAL_DEST." ~ key) -%}
    {%- endfor -%}
    merge into {{ arg_dict["target_relation"].render() }} as DBT_INTERNAL_DEST
    using (
        select *
        from (
            select
                *,
                row_number() over (partition by {{ listed_keys }} order by DBT_INTERNAL_IS_KEPT desc)
                    as DBT_INTERNAL_NUMBER,
                count_if(DBT_INTERNAL_IS_KEPT) over (partition by {{ listed_keys }}) as DBT_INTERNAL_COUNT,
                every({{ is_new }}) over (partition by {{ listed_keys }}) as DBT_INTERNAL_IS_NEW
            from (
                select
                    {{ listed }},
                    {{ _ip_is_kept() }} as DBT_INTERNAL_IS_KEPT,
                    _change_type = 'INSERT' as DBT_INTERNAL_IS_INSERT
                from {{ changelog.render() }}
            )
        )
        where case
            when DBT_INTERNAL_COUNT > 1 then {{ adapter.ip_raise_duplicate_key(model, keys, "DBT_INTERNAL_COUNT") }}
            else DBT_INTERNAL_NUMBER = 1
        end
    ) as DBT_INTERNAL_SOURCE
    on {{ (arg_dict["incremental_predicates"] + conditions) | join(" and ") }}
    when matched and case
        when DBT_INTERNAL_SOURCE.DBT_INTERNAL_IS_NEW
        then {{ adapter.ip_raise_taken_key(model, keys, "DBT_INTERNAL_SOURCE") }}
        else not DBT_INTERNAL_SOURCE.DBT_INTERNAL_IS_KEPT
    end then delete
    {{ _ip_matched_update(columns) }}
    when not matched and DBT_INTERNAL_SOURCE.DBT_INTERNAL_IS_KEPT then insert ({{ listed }})
        values (
            {%- for column in columns -%}
                DBT_INTERNAL_SOURCE.{{ column.quoted }}{{ ", " if not loop.last }}
            {%- endfor -%}
        )
{%- endmacro %}
