{{ config(incremental_strategy='merge', unique_key='id', on_source_rewrite='upserts') }}

select
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
from {{ ip_changes(ref('dimension')) }}
