{#- The first batch replaces the table. Later batches are appended. -#}
{% macro spark_iceberg__load_csv_rows(model, agate_table) -%}
    {%- do adapter.ip.write.require_settings(model, everywhere=true) -%}
    {%- set column_types = model["config"].get("column_types") -%}
    {%- for query in adapter.relations.seeds.queries(agate_table, column_types, get_batch_size()) -%}
        {%- if loop.first -%}
            {%- do adapter.add_query(_table_definition(this) ~ " as " ~ query, abridge_sql_log=true) -%}
        {%- else -%}
            {%- do adapter.add_query("insert into " ~ this.render() ~ " " ~ query, abridge_sql_log=true) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return("insert into " ~ this.render() ~ " -- the rows of the seed file") }}
{%- endmacro %}
