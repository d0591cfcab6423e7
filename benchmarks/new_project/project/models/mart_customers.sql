select
    c.customer_id, c.name, c.region, count(o.order_id) as orders, sum(o.amount) as amount, max(o.ordered_on) as last_on
from {{ ref('stg_customers') }} as c
left join {{ ref('stg_orders') }} as o on o.customer_id = c.customer_id
group by all
