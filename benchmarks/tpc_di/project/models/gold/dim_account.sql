select
    a.account_id,
    a.sequence_number,
    a.account_name,
    a.tax_status,
    a.status,
    a.customer_id,
    concat_ws(' ', c.first_name, c.last_name) as customer_name,
    c.tier as customer_tier,
    a.broker_id,
    b.broker_name,
    b.branch,
    a.valid_from,
    a.valid_to,
    a.is_current
from {{ ref('silver_accounts') }} as a
left join {{ ref('dim_customer') }} as c on c.customer_id = a.customer_id and c.is_current
left join {{ ref('dim_broker') }} as b on b.broker_id = a.broker_id
