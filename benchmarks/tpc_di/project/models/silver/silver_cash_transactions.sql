select
    c.transaction_number,
    c.account_id,
    a.customer_id,
    a.broker_id,
    c.transacted_at,
    c.transacted_on,
    c.amount,
    case when c.amount < 0 then 'withdrawal' else 'deposit' end as direction,
    c.description
from {{ ref('bronze_cash_transactions') }} as c
inner join {{ ref('silver_accounts') }} as a
    on a.account_id = c.account_id and c.transacted_at >= a.valid_from and c.transacted_at < a.valid_to
