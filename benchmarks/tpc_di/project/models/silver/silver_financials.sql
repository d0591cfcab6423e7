with companies as (
    select cik, company_name
    from {{ ref('silver_companies') }}
    where is_current
),

matched as (
    select f.*, coalesce(by_cik.cik, by_name.cik) as cik
    from {{ ref('bronze_financials') }} as f
    left join companies as by_cik on by_cik.cik = f.company_cik
    left join companies as by_name on by_name.company_name = f.company_name
)

select
    cik,
    fiscal_year,
    fiscal_quarter,
    quarter_starts_on,
    posted_on,
    revenue,
    earnings,
    eps,
    margin,
    assets - liabilities as equity,
    sum(eps) over (
        partition by cik order by quarter_starts_on, posted_on rows between 3 preceding and current row
    ) as eps_of_four_quarters,
    lag(revenue, 4) over (partition by cik order by quarter_starts_on, posted_on) as revenue_a_year_ago
from matched
where cik is not null
