with activity as (
    select customer_id, date_trunc('month', created_at) as month_starts_at, 'trade' as kind, symbol
    from {{ ref('dim_trade') }}
    where customer_id is not null
    union all
    select customer_id, date_trunc('month', placed_at) as month_starts_at, 'watch' as kind, symbol
    from {{ ref('silver_watches') }}
),

monthly as (
    select
        a.month_starts_at,
        c.country,
        c.tier,
        count(*) as activities,
        count(distinct a.customer_id) as customers,
        count(distinct case when a.kind = 'trade' then a.customer_id end) as traders,
        count(distinct a.symbol) as symbols
    from activity as a
    inner join {{ ref('dim_customer') }} as c on c.customer_id = a.customer_id and c.is_current
    group by a.month_starts_at, c.country, c.tier
)

select
    *,
    cast(traders / customers as decimal(6, 4)) as trader_share,
    customers - lag(customers) over (partition by country, tier order by month_starts_at) as customers_gained
from monthly
