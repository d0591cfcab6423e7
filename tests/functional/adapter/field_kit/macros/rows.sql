{#- The values of a column, asked while dbt compiles. -#}
{% macro values_of(relation, column) -%}
    {%- if not execute or load_relation(relation) is none -%} {{ return([]) }} {%- endif -%}
    {%- call statement("values_of", fetch_result=true) -%}
        select {{ column }} as value from {{ relation }} group by {{ column }} order by count(*) desc, {{ column }}
    {%- endcall -%}
    {{ return(load_result("values_of")["data"] | map(attribute=0) | list) }}
{%- endmacro %}

{#- How many rows of either relation the other one has not. -#}
{% macro differing(one, other) -%}
    select count(*) as differing from (
        (select * from {{ one }} {{ dbt.except() }} select * from {{ other }})
        union all
        (select * from {{ other }} {{ dbt.except() }} select * from {{ one }})
    ) as d
{%- endmacro %}
