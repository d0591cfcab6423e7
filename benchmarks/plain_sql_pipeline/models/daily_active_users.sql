select event_on, platform, count(distinct user_id) as users, count(*) as events
from {{ ref('events_deduplicated') }}
group by event_on, platform
