{% macro spark_iceberg__can_clone_table() -%}
    {{ return(execute and config.get("clone_as") != "view") }}
{%- endmacro %}
