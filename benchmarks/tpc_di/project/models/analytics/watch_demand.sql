with watched as (
    select
        symbol,
        count(*) as watches,
        count(distinct customer_id) as watchers,
        count(distinct case when is_active then customer_id end) as active_watchers
    from {{ ref('fact_watches') }}
    group by symbol
),

traded as (
    select symbol, count(distinct customer_id) as buyers
    from {{ ref('dim_trade') }}
    where not is_sell
    group by symbol
)

select
    s.symbol,
    s.security_name,
    s.industry,
    coalesce(w.watches, 0) as watches,
    coalesce(w.watchers, 0) as watchers,
    coalesce(w.active_watchers, 0) as active_watchers,
    coalesce(t.buyers, 0) as buyers
from {{ ref('dim_security') }} as s
left join watched as w on w.symbol = s.symbol
left join traded as t on t.symbol = s.symbol
where s.is_current
