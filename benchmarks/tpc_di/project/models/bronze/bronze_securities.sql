select
    to_timestamp(substring(line, 1, 15), 'yyyyMMdd-HHmmss') as posted_at,
    trim(substring(line, 19, 15)) as symbol,
    trim(substring(line, 34, 6)) as issue_type,
    substring(line, 40, 4) as status_id,
    trim(substring(line, 44, 70)) as security_name,
    trim(substring(line, 114, 6)) as exchange_id,
    cast(trim(substring(line, 120, 13)) as bigint) as shares_outstanding,
    to_date(substring(line, 133, 8), 'yyyyMMdd') as first_traded_on,
    cast(trim(substring(line, 149, 12)) as decimal(10, 2)) as dividend,
    try_cast(trim(substring(line, 161)) as bigint) as company_cik,
    trim(substring(line, 161)) as company_name
from {{ source('raw', 'finwire') }}
where substring(line, 16, 3) = 'SEC'
