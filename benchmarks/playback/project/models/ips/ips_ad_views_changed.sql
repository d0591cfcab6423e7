{{ config(alias='ad_views_changed', incremental_strategy='merge', unique_key=['event_id', 'event_date']) }}

{% set either = [ref('ips_events'), source('raw', 'ad_impressions')] %}
{% set keys = ['event_id', 'event_date'] %}
-- the events that changed on either side
select
    e.event_id,
    e.account_id,
    e.title_id,
    e.seconds,
    a.ad_id,
    a.ad_seconds,
    e.event_date
from {{ ip_changed_groups(ref('ips_events'), keys, changes_of=either) }} as e
inner join {{ ip_changed_groups(source('raw', 'ad_impressions'), keys, changes_of=either) }} as a
    on e.event_id = a.event_id and e.event_date = a.event_date
