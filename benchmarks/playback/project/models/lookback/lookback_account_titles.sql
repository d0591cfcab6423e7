{{ config(alias='account_titles') }}

select
    account_id,
    event_date,
    count(distinct title_id) as titles,
    max(seconds) as longest
from {{ ref('lookback_events') }}
{% if is_incremental() %}
where event_date >= date_sub(date '{{ var('day') }}', 13)
{% endif %}
group by account_id, event_date
