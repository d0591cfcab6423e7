{{ config(alias='account_days', incremental_strategy='merge', unique_key=['account_id', 'event_date']) }}

-- recompute the changed groups
select
    account_id,
    event_date,
    sum(seconds) as seconds,
    count(*) as plays
from {{ ip_changed_groups(ref('ips_events'), ['account_id', 'event_date']) }}
group by account_id, event_date
