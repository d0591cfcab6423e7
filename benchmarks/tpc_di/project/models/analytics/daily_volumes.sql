select
    created_date_key,
    trade_type,
    count(*) as trades,
    sum(quantity) as quantity,
    sum(trade_value) as trade_value,
    sum(commission) as commission,
    sum(case when is_cash then 1 else 0 end) as cash_trades
from {{ ref('dim_trade') }}
group by created_date_key, trade_type
