{{ config(alias='account_titles', incremental_strategy='merge', unique_key=['account_id', 'event_date']) }}

-- distinct counts cannot be updated from new rows alone, so recompute the changed groups
select
    account_id,
    event_date,
    count(distinct title_id) as titles,
    max(seconds) as longest
from {{ ip_changed_groups(ref('ips_events'), ['account_id', 'event_date']) }}
group by account_id, event_date
