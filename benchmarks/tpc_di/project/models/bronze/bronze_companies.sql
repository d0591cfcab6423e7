select
    to_timestamp(substring(line, 1, 15), 'yyyyMMdd-HHmmss') as posted_at,
    trim(substring(line, 19, 60)) as company_name,
    cast(substring(line, 79, 10) as bigint) as cik,
    substring(line, 89, 4) as status_id,
    substring(line, 93, 2) as industry_id,
    nullif(trim(substring(line, 95, 4)), '') as sp_rating,
    to_date(nullif(trim(substring(line, 99, 8)), ''), 'yyyyMMdd') as founded_on,
    trim(substring(line, 107, 80)) as address_line,
    trim(substring(line, 267, 12)) as postal_code,
    trim(substring(line, 279, 25)) as city,
    trim(substring(line, 304, 20)) as state_province,
    trim(substring(line, 324, 24)) as country,
    trim(substring(line, 348, 46)) as ceo_name,
    trim(substring(line, 394, 150)) as description
from {{ source('raw', 'finwire') }}
where substring(line, 16, 3) = 'CMP'
