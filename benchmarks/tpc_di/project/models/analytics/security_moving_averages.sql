select
    symbol,
    traded_on,
    close_price,
    cast(avg(close_price) over (
        partition by symbol order by traded_on rows between 6 preceding and current row
    ) as decimal(12, 4)) as average_of_7_days,
    cast(avg(close_price) over (
        partition by symbol order by traded_on rows between 29 preceding and current row
    ) as decimal(12, 4)) as average_of_30_days,
    sum(volume) over (
        partition by symbol order by traded_on rows between 29 preceding and current row
    ) as volume_of_30_days
from {{ ref('fact_market_history') }}
