with trading as (
    select customer_id, count(*) as trades, sum(trade_value) as trade_value, sum(commission + fee) as revenue
    from {{ ref('dim_trade') }}
    where customer_id is not null
    group by customer_id
),

balances as (
    select
        account_id,
        customer_id,
        balance,
        row_number() over (partition by account_id order by transacted_on desc) as recency
    from {{ ref('fact_cash_balances') }}
),

cash as (
    select customer_id, sum(balance) as cash_balance, count(*) as cash_accounts
    from balances
    where recency = 1
    group by customer_id
)

select
    c.customer_id,
    c.first_name,
    c.last_name,
    c.tier,
    c.country,
    coalesce(t.trades, 0) as trades,
    coalesce(t.trade_value, 0) as trade_value,
    coalesce(t.revenue, 0) as revenue,
    coalesce(b.cash_balance, 0) as cash_balance,
    case
        when t.revenue > 10000 or b.cash_balance > 1000000 then 'gold'
        when t.revenue > 2000 then 'silver'
        else 'standard'
    end as segment
from {{ ref('dim_customer') }} as c
left join trading as t on t.customer_id = c.customer_id
left join cash as b on b.customer_id = c.customer_id
where c.is_current
