{{ config(alias='ad_views') }}

select
    e.event_id,
    e.account_id,
    e.title_id,
    e.seconds,
    a.ad_id,
    a.ad_seconds,
    e.event_date
from {{ ref('lookback_events') }} as e
inner join {{ source('raw', 'ad_impressions') }} as a
    on e.event_id = a.event_id and e.event_date = a.event_date
{% if is_incremental() %}
where
    e.event_date >= date_sub(date '{{ var('day') }}', 13)
    and a.event_date >= date_sub(date '{{ var('day') }}', 13)
{% endif %}
