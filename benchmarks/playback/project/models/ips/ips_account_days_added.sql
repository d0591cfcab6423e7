{{ config(alias='account_days_added', incremental_strategy='merge', unique_key=['account_id', 'event_date']) }}

{% set days = ip_range([ref('ips_events')], 'event_date') %}
-- add the sums of the new events to the sums in the table, without reading old events
with new as (
    select
        account_id,
        event_date,
        sum(seconds) as seconds,
        count(*) as plays
    from {{ ip_changes(ref('ips_events')) }}
    group by account_id, event_date
)

select
    account_id,
    event_date,
    sum(seconds) as seconds,
    sum(plays) as plays
from (
    select * from new
    {% if is_incremental() %}
    union all
    select /*+ broadcast(new) */ known.*
    from {{ this }} as known
    left semi join new on known.account_id = new.account_id and known.event_date = new.event_date
    where known.event_date between {{ days.min }} and {{ days.max }}
    {% endif %}
)
group by account_id, event_date
