{{ config(incremental_strategy='apply_changes', unique_key='id') }}

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
    updated_at,
    _change_type
from {{ ip_changelog(ref('apply_changes'), unique_key='id') }}
