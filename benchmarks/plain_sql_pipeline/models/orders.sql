select order_id, customer_id, store_id, lower(trim(status)) as status, ordered_at, to_date(ordered_at) as ordered_on
from {{ source('raw', 'orders') }}
where customer_id is not null
