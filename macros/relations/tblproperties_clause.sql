{% macro spark_iceberg__tblproperties_clause(more={}) -%}
    {%- set properties = dict(adapter.table_properties(model.config), **more) -%}
    {%- if properties -%}
        tblproperties (
        {%- for key, value in properties.items() -%}
            {{ adapter.sql_string(key) }} = {{ adapter.sql_property(value) }}{{ ", " if not loop.last }}
        {%- endfor -%}
        )
    {%- endif -%}
{%- endmacro %}
