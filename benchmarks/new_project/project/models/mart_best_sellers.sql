select *
from (
    select
        product_id, ordered_on, sum(amount) as amount,
        rank() over (partition by ordered_on order by sum(amount) desc, product_id) as place
    from {{ ref('stg_orders') }}
    group by product_id, ordered_on
)
where place <= 3
