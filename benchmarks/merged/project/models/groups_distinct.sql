{{ config(incremental_strategy='merge', unique_key='group_id') }}

select
    group_id,
    count(distinct points) as points
from {{ ip_changed_groups(ref('dimension'), 'group_id') }}
group by group_id
