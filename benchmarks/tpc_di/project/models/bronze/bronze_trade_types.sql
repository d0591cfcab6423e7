select tt_id as trade_type_id, tt_name as trade_type_name, tt_is_sell = 1 as is_sell, tt_is_mrkt = 1 as is_market_order
from {{ source('raw', 'trade_type') }}
