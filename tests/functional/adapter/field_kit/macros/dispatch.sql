{#- Which implementation dbt finds of a macro that has one for each adapter. -#}
{% macro found(name) -%} {{ return(adapter.dispatch("found_" ~ name, "field_kit")()) }} {%- endmacro %}

{% macro default__found_one() -%} {{ return("default") }} {%- endmacro %}

{% macro default__found_two() -%} {{ return("default") }} {%- endmacro %}
{% macro spark__found_two() -%} {{ return("spark") }} {%- endmacro %}

{% macro default__found_three() -%} {{ return("default") }} {%- endmacro %}
{% macro spark__found_three() -%} {{ return("spark") }} {%- endmacro %}
{% macro spark_iceberg__found_three() -%} {{ return("spark_iceberg") }} {%- endmacro %}

{% macro default__found_four() -%} {{ return("default") }} {%- endmacro %}
