{#-
    One statement: the model's SQL may read its own table, which a DELETE before the INSERT would have changed. All new
    rows of a key are inserted; the first of them comes a second time, to delete the old ones.
-#}
{% macro spark_iceberg__get_incremental_delete_insert_sql(arg_dict) -%}
    {%- if not arg_dict["unique_key"] -%} {{ return(get_incremental_append_sql(arg_dict)) }} {%- endif -%}
    {%- set columns = arg_dict["dest_columns"] -%}
    {%- set keys = adapter.ip_key_columns(arg_dict["unique_key"], columns) -%}
    {%- set conditions = ["not DBT_INTERNAL_SOURCE.DBT_INTERNAL_IS_NEW"] + arg_dict["incremental_predicates"] -%}
    {%- for key in keys -%}
        {%- do conditions.append("DBT_INTERNAL_SOURCE." ~ key ~ " = DBT_INTERNAL_DEST." ~ key) -%}
    {%- endfor -%}
    {%- set key = keys | join(", ") -%}
    merge into {{ arg_dict["target_relation"].render() }} as DBT_INTERNAL_DEST
    using (
        select *
        from (
            select *, row_number() over (partition by {{ key }} order by {{ key }}) as DBT_INTERNAL_NUMBER
            from {{ arg_dict["temp_relation"].render() }}
        )
        lateral view explode(if(DBT_INTERNAL_NUMBER = 1, array(true, false), array(true))) as DBT_INTERNAL_IS_NEW
    ) as DBT_INTERNAL_SOURCE
    on {{ conditions | join(" and ") }}
    when matched then delete
    when not matched and DBT_INTERNAL_SOURCE.DBT_INTERNAL_IS_NEW then
        insert ({{ columns | map(attribute="quoted") | join(", ") }})
        values (DBT_INTERNAL_SOURCE.{{ columns | map(attribute="quoted") | join(", DBT_INTERNAL_SOURCE.") }})
{%- endmacro %}
