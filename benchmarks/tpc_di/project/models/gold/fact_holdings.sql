select
    h.sequence_number,
    h.trade_id,
    h.first_trade_id,
    t.customer_id,
    t.account_id,
    t.symbol,
    t.company_cik,
    to_date(h.closed_at) as held_from,
    h.trade_price,
    h.quantity_after as current_quantity,
    h.quantity_change,
    first.trade_price as first_price,
    cast(h.quantity_after * (h.trade_price - first.trade_price) as decimal(18, 2)) as unrealized_gain
from {{ ref('silver_holdings') }} as h
inner join {{ ref('dim_trade') }} as t on t.trade_id = h.trade_id
left join {{ ref('silver_trades') }} as first on first.trade_id = h.first_trade_id
