select ordered_on, count(*) as orders, sum(value) as value
from {{ ref('int_order_lines') }}
group by ordered_on
