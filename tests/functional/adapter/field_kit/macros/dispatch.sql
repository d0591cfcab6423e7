{#- Macros with implementations for some adapters. Each returns the name of the implementation that dbt finds. -#}
{% macro plain() -%} {{ return(adapter.dispatch("plain", "field_kit")()) }} {%- endmacro %}
{% macro default__plain() -%} {{ return("default") }} {%- endmacro %}

{% macro sparks() -%} {{ return(adapter.dispatch("sparks", "field_kit")()) }} {%- endmacro %}
{% macro default__sparks() -%} {{ return("default") }} {%- endmacro %}
{% macro spark__sparks() -%} {{ return("spark") }} {%- endmacro %}

{% macro ours() -%} {{ return(adapter.dispatch("ours", "field_kit")()) }} {%- endmacro %}
{% macro default__ours() -%} {{ return("default") }} {%- endmacro %}
{% macro spark__ours() -%} {{ return("spark") }} {%- endmacro %}
{% macro spark_iceberg__ours() -%} {{ return("spark_iceberg") }} {%- endmacro %}

{% macro shimmed() -%} {{ return(adapter.dispatch("shimmed", "field_kit")()) }} {%- endmacro %}
{% macro default__shimmed() -%} {{ return("default") }} {%- endmacro %}
