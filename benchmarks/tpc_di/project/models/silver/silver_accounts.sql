with versions as (
    select
        *,
        lead(changed_at) over (partition by account_id order by changed_at, sequence_number) as next_changed_at
    from {{ ref('bronze_accounts') }}
),

owners as (
    select customer_id, tier, country
    from {{ ref('silver_customers') }}
    where is_current
)

select
    v.account_id,
    v.sequence_number,
    v.customer_id,
    v.broker_id,
    v.account_name,
    case v.tax_status when 0 then 'untaxed' when 1 then 'taxed' else 'deferred' end as tax_status,
    s.status_name as status,
    o.tier as customer_tier,
    o.country as customer_country,
    v.changed_at as valid_from,
    coalesce(v.next_changed_at, timestamp '9999-12-31 00:00:00') as valid_to,
    v.next_changed_at is null as is_current
from versions as v
left join {{ ref('bronze_status_types') }} as s on s.status_id = v.status_id
left join owners as o on o.customer_id = v.customer_id
