select *
from (
    select *, row_number() over (partition by customer_id order by ordered_on, order_id) as place
    from {{ ref('stg_orders') }}
)
where place = 1
