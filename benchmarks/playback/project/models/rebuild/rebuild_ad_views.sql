{{ config(alias='ad_views') }}

select
    e.event_id,
    e.account_id,
    e.title_id,
    e.seconds,
    a.ad_id,
    a.ad_seconds,
    e.event_date
from {{ ref('rebuild_events') }} as e
inner join {{ source('raw', 'ad_impressions') }} as a
    on e.event_id = a.event_id and e.event_date = a.event_date
