with monthly as (
    select
        date_trunc('month', traded_on) as month_starts_at,
        symbol,
        sum(volume) as volume,
        max(high_price) as high_price,
        min(low_price) as low_price
    from {{ ref('fact_market_history') }}
    group by date_trunc('month', traded_on), symbol
),

ranked as (
    select *, row_number() over (partition by month_starts_at order by volume desc, symbol) as volume_rank
    from monthly
)

select r.month_starts_at, r.volume_rank, r.symbol, s.company_name, s.industry, r.volume, r.high_price, r.low_price
from ranked as r
left join {{ ref('dim_security') }} as s on s.symbol = r.symbol and s.is_current
where r.volume_rank <= 10
