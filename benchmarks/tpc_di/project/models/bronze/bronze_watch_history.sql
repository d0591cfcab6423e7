select
    cdc_dsn as sequence_number,
    w_c_id as customer_id,
    trim(w_s_symb) as symbol,
    w_dts as event_at,
    upper(w_action) as action
from {{ source('raw', 'watch_history') }}
where w_action in ('ACTV', 'CNCL')
