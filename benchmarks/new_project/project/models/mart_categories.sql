select category, count(*) as orders, sum(value) as value, count(distinct customer_id) as customers
from {{ ref('int_order_lines') }}
group by category
