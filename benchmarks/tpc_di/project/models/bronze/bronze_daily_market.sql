select
    dm_date as traded_on,
    trim(dm_s_symb) as symbol,
    dm_close as close_price,
    dm_high as high_price,
    dm_low as low_price,
    dm_vol as volume
from {{ source('raw', 'daily_market') }}
where dm_close > 0
