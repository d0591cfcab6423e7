{{ config(alias='events') }}

select
    event_id,
    account_id,
    title_id,
    lower(device) as device,
    seconds,
    event_at,
    event_date
from {{ source('raw', 'playback') }}
where
    seconds > 0
    {% if is_incremental() %}
    and event_date >= date_sub(date '{{ var('day') }}', 13)
    {% endif %}
