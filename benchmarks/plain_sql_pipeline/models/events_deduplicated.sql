with numbered as (
    select *, row_number() over (partition by platform, event_id order by received_at) as number
    from {{ ref('events') }}
)

select platform, event_id, session_id, user_id, event_type, product_id, event_at, event_on, received_at
from numbered
where number = 1
