with rates as (
    select tax_id, tax_name, tax_rate
    from {{ ref('bronze_tax_rates') }}
),

prospects as (
    select last_name, first_name, postal_code, max(credit_rating) as credit_rating, max(net_worth) as net_worth
    from {{ ref('silver_prospects') }}
    group by last_name, first_name, postal_code
)

select
    c.customer_id,
    c.version_number,
    c.status,
    c.last_name,
    c.first_name,
    c.gender,
    c.tier,
    c.born_on,
    c.city,
    c.country,
    c.email,
    l.tax_name as local_tax_name,
    l.tax_rate as local_tax_rate,
    n.tax_name as national_tax_name,
    n.tax_rate as national_tax_rate,
    p.credit_rating,
    p.net_worth,
    p.last_name is not null as is_prospect,
    c.valid_from,
    c.valid_to,
    c.is_current
from {{ ref('silver_customers') }} as c
left join rates as l on l.tax_id = c.local_tax_id
left join rates as n on n.tax_id = c.national_tax_id
left join prospects as p
    on p.last_name = c.last_name and p.first_name = c.first_name and p.postal_code = c.postal_code
