select
    h.sequence_number,
    h.first_trade_id,
    h.trade_id,
    t.account_id,
    t.symbol,
    t.closed_at,
    t.trade_price,
    h.quantity_before,
    h.quantity_after,
    h.quantity_after - h.quantity_before as quantity_change
from {{ ref('bronze_holding_history') }} as h
inner join {{ ref('silver_trades') }} as t on t.trade_id = h.trade_id
