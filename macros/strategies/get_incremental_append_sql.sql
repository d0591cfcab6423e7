{% macro spark_iceberg__get_incremental_append_sql(arg_dict) -%}
    {%- set columns = arg_dict["dest_columns"] | map(attribute="quoted") | join(", ") -%}
    insert into {{ arg_dict["target_relation"].render() }} ({{ columns }})
    select {{ columns }}
    from {{ arg_dict["temp_relation"].render() }}
{%- endmacro %}
