select
    s.symbol,
    s.security_name,
    s.issue_type,
    s.status,
    s.exchange_id,
    s.shares_outstanding,
    s.dividend,
    s.first_traded_on,
    c.cik as company_cik,
    c.company_name,
    c.industry,
    c.sp_rating,
    s.valid_from,
    s.valid_to,
    s.is_current
from {{ ref('silver_securities') }} as s
left join {{ ref('dim_company') }} as c on c.cik = s.company_cik and c.is_current
