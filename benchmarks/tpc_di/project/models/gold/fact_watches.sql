select
    w.customer_id,
    w.symbol,
    s.company_cik,
    s.industry,
    c.tier as customer_tier,
    c.country,
    placed.date_key as placed_date_key,
    removed.date_key as removed_date_key,
    w.days_watched,
    w.is_active
from {{ ref('silver_watches') }} as w
inner join {{ ref('dim_customer') }} as c on c.customer_id = w.customer_id and c.is_current
inner join {{ ref('dim_security') }} as s on s.symbol = w.symbol and s.is_current
left join {{ ref('dim_date') }} as placed on placed.date_value = to_date(w.placed_at)
left join {{ ref('dim_date') }} as removed on removed.date_value = to_date(w.removed_at)
