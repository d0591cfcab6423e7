select
    'web' as platform,
    event_id,
    session_id,
    user_id,
    lower(event_type) as event_type,
    product_id,
    event_at,
    to_date(event_at) as event_on,
    received_at
from {{ source('raw', 'web_events') }}
where not is_test and user_id is not null

union all

select
    'app' as platform,
    id as event_id,
    session as session_id,
    account as user_id,
    case kind when 'screen' then 'view' when 'add' then 'cart' when 'pay' then 'purchase' else 'other' end as event_type,
    item as product_id,
    at as event_at,
    to_date(at) as event_on,
    arrived_at as received_at
from {{ source('raw', 'app_events') }}
where account is not null
