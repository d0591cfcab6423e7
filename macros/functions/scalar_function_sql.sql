{% macro spark_iceberg__scalar_function_sql(target_relation) -%}
    {%- if execute -%}
        {%- do adapter.relations.statements.require_function_catalog(target_relation, model.unique_id) -%}
    {%- endif -%}
    CREATE OR REPLACE FUNCTION {{ target_relation.render() }} ({{ formatted_scalar_function_args_sql() }})
    RETURNS {{ model.returns.data_type }}
    {{ scalar_function_volatility_sql() }}
    RETURN {{ model.compiled_code }}
{%- endmacro %}
