select o.*, p.title, p.category, p.price, o.amount * p.price as value
from {{ ref('stg_orders') }} as o
join {{ ref('stg_products') }} as p on p.product_id = o.product_id
