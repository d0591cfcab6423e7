{{ config(incremental_strategy=var('writer'), unique_key='id', tblproperties=var('properties')) }}

{% set merges = var('writer') == 'merge' %}
-- a merge does not delete rows, so the benchmark deletes them afterwards
select
    {% if not is_incremental() %} /*+ repartition_by_range({{ var('files') }}, id) */ {% endif %}
    id,
    name,
    email,
    segment,
    status,
    points,
    balance,
    born,
    group_id,
    updated_at
    {%- if not merges %},
    _change_type
    {%- endif %}
from {{ ip_changes(source('raw', 'feed')) }}
{% if merges %}
where _change_type <> 'DELETE'
{% endif %}
