select
    cdc_dsn as sequence_number,
    t_id as trade_id,
    t_dts as recorded_at,
    t_st_id as status_id,
    t_tt_id as trade_type_id,
    t_is_cash = 1 as is_cash,
    trim(t_s_symb) as symbol,
    t_qty as quantity,
    t_bid_price as bid_price,
    t_trade_price as trade_price,
    t_ca_id as account_id,
    t_exec_name as executor_name,
    t_chrg as fee,
    t_comm as commission,
    t_tax as tax
from {{ source('raw', 'trades') }}
