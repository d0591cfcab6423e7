select product_id, count(*) as returned
from {{ ref('stg_orders') }}
where status = 'returned'
group by product_id
