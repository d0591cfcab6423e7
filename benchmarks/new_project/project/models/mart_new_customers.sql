select ordered_on, count(*) as customers
from {{ ref('int_first_orders') }}
group by ordered_on
