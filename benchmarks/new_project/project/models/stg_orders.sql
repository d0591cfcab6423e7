select order_id, customer_id, product_id, ordered_on, amount, status
from {{ source('raw', 'orders') }}
where amount > 0
