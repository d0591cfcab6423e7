with accounts as (
    select account_id, customer_id, broker_id, branch, valid_from, valid_to
    from {{ ref('dim_account') }}
),

clock as (
    select hour_id, min(market_hours_flag) as is_market_hour
    from {{ source('raw', 'times') }}
    group by hour_id
)

select
    t.trade_id,
    d.date_key as created_date_key,
    d.is_weekend,
    k.is_market_hour,
    t.created_at,
    t.closed_at,
    t.status,
    t.trade_type,
    t.is_sell,
    t.is_cash,
    t.symbol,
    s.company_cik,
    s.industry,
    t.account_id,
    a.customer_id,
    a.broker_id,
    a.branch,
    t.executor_name,
    t.quantity,
    t.bid_price,
    t.trade_price,
    t.trade_value,
    t.fee,
    t.commission,
    t.tax,
    coalesce(t.trade_value, 0) - t.fee - t.commission - t.tax as net_value
from {{ ref('silver_trades') }} as t
left join accounts as a
    on a.account_id = t.account_id and t.created_at >= a.valid_from and t.created_at < a.valid_to
left join {{ ref('dim_security') }} as s on s.symbol = t.symbol and s.is_current
left join {{ ref('dim_date') }} as d on d.date_value = to_date(t.created_at)
left join clock as k on k.hour_id = hour(t.created_at)
