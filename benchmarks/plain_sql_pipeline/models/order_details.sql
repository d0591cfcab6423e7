select
    l.line_id,
    l.order_id,
    o.ordered_on,
    o.status,
    o.customer_id,
    c.country,
    c.segment,
    p.category,
    p.brand,
    s.region,
    l.quantity,
    l.amount,
    cast(l.amount - l.quantity * p.cost as decimal(18, 2)) as margin
from {{ ref('order_lines') }} as l
inner join {{ ref('orders') }} as o on o.order_id = l.order_id
left join {{ ref('customers') }} as c on c.customer_id = o.customer_id
left join {{ source('raw', 'products') }} as p on p.product_id = l.product_id
left join {{ source('raw', 'stores') }} as s on s.store_id = o.store_id
