{% macro spark_iceberg__get_incremental_insert_overwrite_sql(arg_dict) -%}
    {%- set columns = arg_dict["dest_columns"] | map(attribute="quoted") | join(", ") -%}
    insert overwrite {{ arg_dict["target_relation"].render() }} ({{ columns }})
    select {{ columns }}
    from {{ arg_dict["temp_relation"].render() }}
    {%- set guard = adapter.ip_window_guard(model) -%}
    {%- if guard %} where {{ guard }} {%- endif -%}
{%- endmacro %}
