{#-
    CREATE [OR REPLACE] TABLE with every clause of the model's config, up to the query.
    `columns`: the column list of a table that is made empty; `tblproperties`: set beside the model's own, over them.
-#}
{% macro _table_definition(relation, columns=none, tblproperties={}) -%}
    create {{ "or replace " if _replaces_tables() }}table {{ relation.render() }}
    {% if columns %}({{ columns }}){% endif %}
    {{ file_format_clause() }}
    {{ options_clause() }}
    {%- set properties = dict(tblproperties, **adapter.ip.clones.still_forbidden(model, relation)) if execute else {} %}
    {{ spark_iceberg__tblproperties_clause(properties) }}
    {{ partition_cols(label="partitioned by") }}
    {{ clustered_cols(label="clustered by") }}
    {{ location_clause() }}
    {{ comment_clause() }}
{%- endmacro %}
