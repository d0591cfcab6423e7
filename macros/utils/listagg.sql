{#- Supports order_by. Spark's listagg has no limit, so the values are encoded, listed, and split again. -#}
{% macro spark_iceberg__listagg(measure, delimiter_text, order_by_clause, limit_num) -%}
    {%- if not order_by_clause -%}
        {{ return(spark__listagg(measure, delimiter_text, order_by_clause, limit_num)) }}
    {%- elif not limit_num -%}
        listagg({{ measure }}, {{ delimiter_text }}) within group ({{ order_by_clause }})
    {%- else -%}
        {%- set values = "base64(cast(" ~ measure ~ " as string))" -%}
        {%- set encoded = "listagg(" ~ values ~ ", ',') within group (" ~ order_by_clause ~ ")" -%}
        array_join(
            transform(
                slice(split({{ encoded }}, ','), 1, {{ limit_num }}), each -> decode(unbase64(each), 'utf-8')
            ),
            {{ delimiter_text }}
        )
    {%- endif -%}
{%- endmacro %}
