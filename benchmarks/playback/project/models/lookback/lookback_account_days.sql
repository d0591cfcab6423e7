{{ config(alias='account_days') }}

select
    account_id,
    event_date,
    sum(seconds) as seconds,
    count(*) as plays
from {{ ref('lookback_events') }}
{% if is_incremental() %}
where event_date >= date_sub(date '{{ var('day') }}', 13)
{% endif %}
group by account_id, event_date
