with earnings as (
    select
        cik,
        eps_of_four_quarters,
        quarter_starts_on as valid_from,
        lead(quarter_starts_on, 1, date '9999-12-31') over (partition by cik order by quarter_starts_on) as valid_to
    from {{ ref('silver_financials') }}
),

year_range as (
    select
        *,
        max(high_price) over (
            partition by symbol order by traded_on rows between 364 preceding and current row
        ) as high_of_52_weeks,
        min(low_price) over (
            partition by symbol order by traded_on rows between 364 preceding and current row
        ) as low_of_52_weeks,
        lag(close_price) over (partition by symbol order by traded_on) as previous_close
    from {{ ref('silver_daily_market') }}
)

select
    y.symbol,
    y.traded_on,
    y.company_cik,
    y.close_price,
    y.high_price,
    y.low_price,
    y.volume,
    y.high_of_52_weeks,
    y.low_of_52_weeks,
    y.close_price - y.previous_close as price_change,
    cast(y.close_price / nullif(e.eps_of_four_quarters, 0) as decimal(12, 2)) as price_earnings_ratio,
    cast(y.dividend / y.close_price * 100 as decimal(10, 4)) as dividend_yield
from year_range as y
left join earnings as e
    on e.cik = y.company_cik and y.traded_on >= e.valid_from and y.traded_on < e.valid_to
