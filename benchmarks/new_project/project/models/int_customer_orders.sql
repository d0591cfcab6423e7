select o.*, c.name, c.region
from {{ ref('stg_orders') }} as o
left join {{ ref('stg_customers') }} as c on c.customer_id = o.customer_id
