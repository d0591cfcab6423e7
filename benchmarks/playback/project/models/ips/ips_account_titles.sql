{{ config(alias='account_titles', incremental_strategy='merge', unique_key=['account_id', 'event_date']) }}

-- new rows cannot be added to distinct counts: recompute the groups that changed
select
    account_id,
    event_date,
    count(distinct title_id) as titles,
    max(seconds) as longest
from {{ ip_changed_groups(ref('ips_events'), ['account_id', 'event_date']) }}
group by account_id, event_date
