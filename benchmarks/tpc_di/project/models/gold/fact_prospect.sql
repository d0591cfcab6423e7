with customers as (
    select last_name, first_name, postal_code, count(*) as customers, min(tier) as best_tier
    from {{ ref('silver_customers') }}
    where is_current and status = 'Active'
    group by last_name, first_name, postal_code
)

select
    p.agency_id,
    f.date_key as first_recorded_date_key,
    l.date_key as last_recorded_date_key,
    p.last_name,
    p.first_name,
    p.city,
    p.age,
    p.income,
    p.net_worth,
    p.credit_rating,
    p.marketing_nameplate,
    c.customers is not null as is_customer,
    c.best_tier
from {{ ref('silver_prospects') }} as p
left join customers as c
    on c.last_name = p.last_name and c.first_name = p.first_name and c.postal_code = p.postal_code
left join {{ ref('dim_date') }} as f on f.date_value = p.first_recorded_on
left join {{ ref('dim_date') }} as l on l.date_value = p.last_recorded_on
