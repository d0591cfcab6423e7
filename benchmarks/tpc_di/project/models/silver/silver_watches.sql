with paired as (
    select
        customer_id,
        symbol,
        min(case when action = 'ACTV' then event_at end) as placed_at,
        max(case when action = 'CNCL' then event_at end) as removed_at,
        count(*) as events
    from {{ ref('bronze_watch_history') }}
    group by customer_id, symbol
)

select
    p.customer_id,
    p.symbol,
    s.company_name,
    s.industry,
    p.placed_at,
    p.removed_at,
    datediff(p.removed_at, p.placed_at) as days_watched,
    p.removed_at is null as is_active,
    p.events
from paired as p
left join {{ ref('silver_securities') }} as s on s.symbol = p.symbol and s.is_current
where p.placed_at is not null
