with versions as (
    select
        *,
        lead(posted_at) over (partition by symbol order by posted_at) as next_posted_at
    from {{ ref('bronze_securities') }}
),

companies as (
    select cik, company_name, industry, sector_id
    from {{ ref('silver_companies') }}
    where is_current
)

select
    v.symbol,
    v.security_name,
    v.issue_type,
    s.status_name as status,
    v.exchange_id,
    v.shares_outstanding,
    v.first_traded_on,
    v.dividend,
    coalesce(by_cik.cik, by_name.cik) as company_cik,
    coalesce(by_cik.company_name, by_name.company_name) as company_name,
    coalesce(by_cik.industry, by_name.industry, 'unknown') as industry,
    coalesce(by_cik.sector_id, by_name.sector_id, 'unknown') as sector_id,
    v.posted_at as valid_from,
    coalesce(v.next_posted_at, timestamp '9999-12-31 00:00:00') as valid_to,
    v.next_posted_at is null as is_current
from versions as v
left join {{ ref('bronze_status_types') }} as s on s.status_id = v.status_id
left join companies as by_cik on by_cik.cik = v.company_cik
left join companies as by_name on by_name.company_name = v.company_name
