with trades as (
    select
        industry,
        date_trunc('month', created_at) as month_starts_at,
        trade_value,
        quantity,
        customer_id,
        company_cik
    from {{ ref('dim_trade') }}
    where status = 'Completed'
)

select
    industry,
    month_starts_at,
    count(*) as trades,
    sum(trade_value) as trade_value,
    sum(quantity) as quantity,
    count(distinct customer_id) as customers,
    count(distinct company_cik) as companies
from trades
group by industry, month_starts_at
