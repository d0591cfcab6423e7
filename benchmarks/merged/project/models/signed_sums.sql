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

{% if is_incremental() %}
-- a join, so that the changes are computed once
select
    changed.group_id,
    changed.members + coalesce(known.members, 0) as members,
    cast(changed.balance + coalesce(known.balance, 0) as decimal(22, 2)) as balance
from changed
left join {{ this }} as known on changed.group_id = known.group_id
{% else %}
select * from changed
{% endif %}
