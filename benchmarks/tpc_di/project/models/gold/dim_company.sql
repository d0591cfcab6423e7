with listed as (
    select company_cik, count(distinct symbol) as securities, sum(shares_outstanding) as shares_outstanding
    from {{ ref('silver_securities') }}
    where is_current
    group by company_cik
),

financials as (
    select
        cik,
        revenue,
        earnings,
        eps_of_four_quarters,
        equity,
        row_number() over (partition by cik order by quarter_starts_on desc, posted_on desc) as recency
    from {{ ref('silver_financials') }}
)

select
    c.cik,
    c.company_name,
    c.status,
    c.industry,
    c.sector_id,
    c.sp_rating,
    c.is_low_grade,
    c.founded_on,
    c.ceo_name,
    coalesce(l.securities, 0) as securities,
    coalesce(l.shares_outstanding, 0) as shares_outstanding,
    f.revenue as last_revenue,
    f.earnings as last_earnings,
    f.eps_of_four_quarters,
    f.equity,
    c.valid_from,
    c.valid_to,
    c.is_current
from {{ ref('silver_companies') }} as c
left join listed as l on l.company_cik = c.cik
left join financials as f on f.cik = c.cik and f.recency = 1
