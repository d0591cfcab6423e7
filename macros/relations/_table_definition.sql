{#-
    Returns CREATE [OR REPLACE] TABLE with all clauses from the model's config, without the query. `columns`: the column
    list of an empty table. `tblproperties`: properties that override those of the model.
-#}
{% macro _table_definition(relation, columns=none, tblproperties={}) -%}
    {%- set kept = adapter.ip.clones.still_forbidden(model, relation) if execute else {} -%}
    {%- set begun = adapter.ip.dbt_models.begun(model) if execute else {} -%}
    create {{ "or replace " if _replaces_tables() }}table {{ relation.render() }}
    {% if columns %}({{ columns }}){% endif %}
    {{ file_format_clause() }}
    {{ options_clause() }}
    {{ spark_iceberg__tblproperties_clause(dict(tblproperties, **dict(kept, **begun))) }}
    {{ partition_cols(label="partitioned by") }}
    {{ clustered_cols(label="clustered by") }}
    {{ location_clause() }}
    {{ comment_clause() }}
{%- endmacro %}
