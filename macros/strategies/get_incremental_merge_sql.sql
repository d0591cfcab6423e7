{#-
    Where all columns of a row are replaced, the new rows are only inserted here, and `replaces` asks the caller to
    have the old ones deleted with them.
-#}
{% macro spark_iceberg__get_incremental_merge_sql(arg_dict) -%}
    {%- set columns = arg_dict["dest_columns"] -%}
    {%- if adapter.ip_replaces(model, columns, arg_dict["target_columns"], arg_dict["incremental_predicates"]) -%}
        {%- do arg_dict.update({"replaces": true}) -%}
        {{ return(spark_iceberg__get_incremental_append_sql(arg_dict)) }}
    {%- endif -%}
    {%- set keys = adapter.ip_key_columns(arg_dict["unique_key"], columns) -%}
    {%- set conditions = [] -%}
    {%- for key in keys -%}
        {%- do conditions.append("DBT_INTERNAL_SOURCE." ~ key ~ " = DBT_INTERNAL_DEST." ~ key) -%}
    {%- endfor -%}
    merge into {{ arg_dict["target_relation"].render() }} as DBT_INTERNAL_DEST
    using (
        {{ _ip_unique_rows(arg_dict["temp_relation"].render(), keys) }}
    ) as DBT_INTERNAL_SOURCE
    on {{ (arg_dict["incremental_predicates"] + conditions) | join(" and ") }}
    {{ _ip_matched_update(columns) }}
    when not matched then insert ({{ columns | map(attribute="quoted") | join(", ") }})
        values (
            {%- for column in columns -%}
                DBT_INTERNAL_SOURCE.{{ column.quoted }}{{ ", " if not loop.last }}
            {%- endfor -%}
        )
{%- endmacro %}
