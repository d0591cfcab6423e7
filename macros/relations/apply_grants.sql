{#- Checks that the catalog supports grants, and calls dbt's own macro. -#}
{% macro spark_iceberg__apply_grants(relation, grant_config, should_revoke=True) -%}
    {%- if grant_config and execute -%}
        {%- do adapter.relations.statements.require_grants(relation, get_show_grant_sql(relation)) -%}
    {%- endif -%}
    {{ return(default__apply_grants(relation, grant_config, should_revoke)) }}
{%- endmacro %}
