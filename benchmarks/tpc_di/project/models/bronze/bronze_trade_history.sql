select th_t_id as trade_id, th_dts as event_at, th_st_id as status_id
from {{ source('raw', 'trade_history') }}
where th_dts is not null
