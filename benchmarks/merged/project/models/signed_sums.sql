{{ config(incremental_strategy='apply_changes', unique_key='group_id') }}

with summands as (
    select
        group_id,
        true as is_new,
        _change_sign as members,
        if(balance is null, 0, _change_sign) as balances,
        if(_change_sign = 1, balance, -balance) as balance
    from {{ ip_signed_changes(ref('dimension')) }}
    {% if is_incremental() %}
    union all
    select group_id, false as is_new, members, balances, balance from {{ this }}
    {% endif %}
)

select
    group_id,
    sum(members) as members,
    sum(balances) as balances,
    case
        when sum(balances) > 0
            then coalesce(cast(sum(balance) as decimal(22, 2)), raise_error('a sum of balance does not fit'))
    end as balance,
    if(sum(members) = 0, 'DELETE', 'UPDATE_AFTER') as _change_type
from summands
group by group_id
having any(is_new)
