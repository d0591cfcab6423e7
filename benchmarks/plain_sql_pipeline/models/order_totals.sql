with lines as (
    select order_id, count(*) as line_count, sum(amount) as amount
    from {{ ref('order_lines') }}
    group by order_id
),

paid as (
    select order_id, sum(amount) as amount
    from {{ source('raw', 'payments') }}
    group by order_id
)

select
    o.order_id,
    o.customer_id,
    o.ordered_on,
    coalesce(lines.line_count, 0) as line_count,
    coalesce(lines.amount, 0) as amount,
    coalesce(paid.amount, 0) as paid
from {{ ref('orders') }} as o
left join lines on lines.order_id = o.order_id
left join paid on paid.order_id = o.order_id
