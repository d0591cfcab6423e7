select region, ordered_on, count(*) as orders, sum(amount) as amount
from {{ ref('int_customer_orders') }}
group by region, ordered_on
