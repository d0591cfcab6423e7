{{ config(alias='ad_views', incremental_strategy='insert_overwrite') }}

{% set days = ip_range([ref('ips_events'), source('raw', 'ad_impressions')], 'event_date') %}
-- the days on which either side changed
select
    e.event_id,
    e.account_id,
    e.title_id,
    e.seconds,
    a.ad_id,
    a.ad_seconds,
    e.event_date
from {{ ip_as_of(ref('ips_events')) }} as e
inner join {{ ip_as_of(source('raw', 'ad_impressions')) }} as a
    on e.event_id = a.event_id and e.event_date = a.event_date
where
    e.event_date between {{ days.min }} and {{ days.max }}
    and a.event_date between {{ days.min }} and {{ days.max }}
