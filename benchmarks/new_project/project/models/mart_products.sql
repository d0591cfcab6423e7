select p.product_id, p.title, count(o.order_id) as orders
from {{ ref('stg_products') }} as p
left join {{ ref('stg_orders') }} as o on o.product_id = p.product_id
group by all
