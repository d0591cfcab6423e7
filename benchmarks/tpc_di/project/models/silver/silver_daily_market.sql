select
    m.symbol,
    m.traded_on,
    s.company_cik,
    s.industry,
    m.close_price,
    m.high_price,
    m.low_price,
    m.volume,
    s.dividend,
    cast(m.close_price * s.shares_outstanding as decimal(24, 2)) as market_value
from {{ ref('bronze_daily_market') }} as m
inner join {{ ref('silver_securities') }} as s
    on s.symbol = m.symbol and m.traded_on >= to_date(s.valid_from) and m.traded_on < to_date(s.valid_to)
