{#- The values of a column, queried while dbt compiles. -#}
{% macro values_of(relation, column) -%}
    {%- if not execute or load_relation(relation) is none -%} {{ return([]) }} {%- endif -%}
    {%- call statement("values_of", fetch_result=true) -%}
        select {{ column }} as value from {{ relation }} group by {{ column }} order by count(*) desc, {{ column }}
    {%- endcall -%}
    {{ return(load_result("values_of")["data"] | map(attribute=0) | list) }}
{%- endmacro %}

{#- The number of rows that only one of two relations has. -#}
{% macro differing(one, other) -%}
    select count(*) as differing from (
        (select * from {{ one }} {{ dbt.except() }} select * from {{ other }})
        union all
        (select * from {{ other }} {{ dbt.except() }} select * from {{ one }})
    ) as d
{%- endmacro %}
