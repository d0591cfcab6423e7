{% macro spark_iceberg__alter_relation_add_remove_columns(relation, add_columns, remove_columns) -%}
    {%- if add_columns -%}
        {%- call statement("add_columns") -%}
            alter table {{ relation.render() }} add columns (
            {%- for column in add_columns -%}
                {{ column.quoted }} {{ column.data_type }}{{ ", " if not loop.last }}
            {%- endfor -%}
            )
        {%- endcall -%}
    {%- endif -%}
    {%- if remove_columns -%}
        {%- set names = remove_columns | map(attribute="quoted") | join(", ") -%}
        {%- call statement("drop_columns") -%}
            alter table {{ relation.render() }} drop columns ({{ names }})
        {%- endcall -%}
    {%- endif -%}
{%- endmacro %}
