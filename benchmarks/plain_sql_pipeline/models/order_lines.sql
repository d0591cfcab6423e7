select
    line_id,
    order_id,
    product_id,
    quantity,
    cast(quantity * unit_price * (1 - discount) as decimal(18, 2)) as amount
from {{ source('raw', 'order_lines') }}
where quantity > 0
