select
    platform,
    session_id,
    min(event_at) as started_at,
    count(*) as events,
    max(case when event_type = 'view' then 1 else 0 end) as viewed,
    max(case when event_type = 'cart' then 1 else 0 end) as carted,
    max(case when event_type = 'purchase' then 1 else 0 end) as purchased
from {{ ref('events') }}
group by platform, session_id
