{{ config(alias='account_days') }}

select
    account_id,
    event_date,
    sum(seconds) as seconds,
    count(*) as plays
from {{ ref('rebuild_events') }}
group by account_id, event_date
