select
    to_date(started_at) as started_on,
    platform,
    count(*) as sessions,
    sum(viewed) as viewed,
    sum(case when viewed = 1 and carted = 1 then 1 else 0 end) as carted,
    sum(case when viewed = 1 and carted = 1 and purchased = 1 then 1 else 0 end) as purchased
from {{ ref('session_funnels') }}
group by to_date(started_at), platform
