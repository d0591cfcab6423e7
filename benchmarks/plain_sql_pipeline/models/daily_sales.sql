select
    ordered_on,
    region,
    category,
    count(distinct order_id) as orders,
    sum(quantity) as quantity,
    sum(amount) as amount,
    sum(margin) as margin
from {{ ref('order_details') }}
where status <> 'cancelled'
group by all
