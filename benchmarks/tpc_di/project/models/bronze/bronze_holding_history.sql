select
    cdc_dsn as sequence_number,
    hh_h_t_id as first_trade_id,
    hh_t_id as trade_id,
    hh_before_qty as quantity_before,
    hh_after_qty as quantity_after
from {{ source('raw', 'holding_history') }}
