{#- Fails for the keys whose rows differ between a model's table and its rebuild. `sample`: the share of the keys. -#}
{% test ip_equals_rebuild(model, sample=none) -%}
    {%- do adapter.ip.capture.require_arguments("ip_equals_rebuild", varargs, kwargs) -%}
    {%- if execute and flags.WHICH not in ["compile", "generate"] -%}
        {%- set partial = flags.EMPTY or invocation_args_dict.get("sample") is not none -%}
        {{ adapter.ip.verify.failing_rows(graph, model, sample, partial=partial) }}
    {%- else -%}
        {#- Commands that do not execute tests must not fail if the table does not exist yet. -#}
        select 'compiled where the test runs' as query
    {%- endif -%}
{%- endtest %}
