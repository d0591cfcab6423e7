select event_on, platform, count(distinct user_id) as users, count(*) as events
from {{ ip_changed_groups(ref('events_deduplicated'), ['event_on', 'platform']) }}
group by event_on, platform
