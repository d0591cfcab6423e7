{% macro spark_iceberg__get_incremental_insert_overwrite_sql(arg_dict) -%}
    {%- set columns = arg_dict["dest_columns"] | map(attribute="quoted") | join(", ") -%}
    insert overwrite {{ arg_dict["target_relation"].render() }} ({{ columns }})
    select {{ adapter.ip_overwriting_values(model, arg_dict["dest_columns"]) | join(", ") }}
    from {{ arg_dict["temp_relation"].render() }}
{%- endmacro %}
