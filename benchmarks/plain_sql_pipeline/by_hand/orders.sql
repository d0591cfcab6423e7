select
    order_id,
    customer_id,
    store_id,
    lower(trim(status)) as status,
    ordered_at,
    to_date(ordered_at) as ordered_on,
    _change_type
from {{ ip_changelog(source('raw', 'orders'), unique_key='order_id') }}
where customer_id is not null
