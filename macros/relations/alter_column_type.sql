{% macro spark_iceberg__alter_column_type(relation, column_name, new_column_type) -%}
    {%- call statement("alter_column_type") -%}
        alter table {{ relation.render() }} alter column {{ adapter.quote(column_name) }} type {{ new_column_type }}
    {%- endcall -%}
{%- endmacro %}
