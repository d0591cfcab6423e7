{{ config(alias='account_titles') }}

select
    account_id,
    event_date,
    count(distinct title_id) as titles,
    max(seconds) as longest
from {{ ref('rebuild_events') }}
group by account_id, event_date
