select
    c.customer_id,
    c.country,
    c.segment,
    count(t.order_id) as orders,
    sum(t.amount) as amount,
    sum(t.paid) as paid,
    min(t.ordered_on) as first_order_on,
    max(t.ordered_on) as last_order_on
from {{ ref('customers') }} as c
left join {{ ref('order_totals') }} as t on t.customer_id = c.customer_id
group by c.customer_id, c.country, c.segment
