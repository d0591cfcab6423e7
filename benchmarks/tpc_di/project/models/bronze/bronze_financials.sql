select
    cast(substring(line, 19, 4) as int) as fiscal_year,
    cast(substring(line, 23, 1) as int) as fiscal_quarter,
    to_date(substring(line, 24, 8), 'yyyyMMdd') as quarter_starts_on,
    to_date(substring(line, 32, 8), 'yyyyMMdd') as posted_on,
    cast(trim(substring(line, 40, 17)) as decimal(15, 2)) as revenue,
    cast(trim(substring(line, 57, 17)) as decimal(15, 2)) as earnings,
    cast(trim(substring(line, 74, 12)) as decimal(10, 2)) as eps,
    cast(trim(substring(line, 86, 12)) as decimal(10, 2)) as diluted_eps,
    cast(trim(substring(line, 98, 12)) as decimal(10, 2)) as margin,
    cast(trim(substring(line, 127, 17)) as decimal(15, 2)) as assets,
    cast(trim(substring(line, 144, 17)) as decimal(15, 2)) as liabilities,
    try_cast(trim(substring(line, 187)) as bigint) as company_cik,
    trim(substring(line, 187)) as company_name
from {{ source('raw', 'finwire') }}
where substring(line, 16, 3) = 'FIN'
