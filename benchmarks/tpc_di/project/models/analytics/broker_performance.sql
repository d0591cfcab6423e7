with traded as (
    select
        broker_id,
        count(*) as trades,
        count(distinct customer_id) as customers,
        count(distinct symbol) as symbols,
        sum(trade_value) as trade_value,
        sum(commission) as commission,
        sum(case when status = 'Canceled' then 1 else 0 end) as canceled_trades
    from {{ ref('dim_trade') }}
    group by broker_id
)

select
    b.broker_id,
    b.broker_name,
    b.branch,
    coalesce(t.trades, 0) as trades,
    coalesce(t.customers, 0) as customers,
    coalesce(t.symbols, 0) as symbols,
    coalesce(t.trade_value, 0) as trade_value,
    coalesce(t.commission, 0) as commission,
    t.canceled_trades / t.trades as canceled_share,
    rank() over (partition by b.branch order by coalesce(t.commission, 0) desc) as rank_in_branch
from {{ ref('dim_broker') }} as b
left join traded as t on t.broker_id = b.broker_id
