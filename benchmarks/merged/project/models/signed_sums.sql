{{ config(incremental_strategy='merge', unique_key='group_id') }}

-- what a new row adds, an old one takes away; the row of a group that has become empty stays, with 0 members
with changed as (
    select
        group_id,
        sum(if(_change_type = 'INSERT', 1, -1)) as members,
        sum(if(_change_type = 'INSERT', balance, -balance)) as balance
    from {{ ip_changelog(ref('dimension')) }}
    group by group_id
)

select
    group_id,
    sum(members) as members,
    cast(sum(balance) as decimal(22, 2)) as balance
from (
    select * from changed
    {% if is_incremental() %}
    union all
    select /*+ broadcast(changed) */ known.*
    from {{ this }} as known
    left semi join changed on known.group_id = changed.group_id
    {% endif %}
)
group by group_id
