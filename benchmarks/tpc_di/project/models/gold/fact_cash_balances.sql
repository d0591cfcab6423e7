with daily as (
    select
        account_id,
        transacted_on,
        max(customer_id) as customer_id,
        sum(amount) as net_amount,
        sum(case when direction = 'deposit' then amount else 0 end) as deposited,
        count(*) as transactions
    from {{ ref('silver_cash_transactions') }}
    group by account_id, transacted_on
)

select
    account_id,
    transacted_on,
    customer_id,
    deposited,
    net_amount,
    transactions,
    sum(net_amount) over (
        partition by account_id order by transacted_on rows between unbounded preceding and current row
    ) as balance
from daily
