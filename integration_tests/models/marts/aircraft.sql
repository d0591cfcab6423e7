{{ config(incremental_strategy='merge', unique_key='tail_number') }}

with departures as (
    select
        f.tail_number,
        max(struct(f.departed_at, f.flight_id, f.carrier, f.destination)) as latest
    from {{ ip_changes(ref('stg_flights')) }} as f
    where f.tail_number is not null and f.departed_at is not null
    group by f.tail_number
),

latest as (
    select
        tail_number,
        latest.*
    from departures
)

select
    latest.tail_number,
    latest.carrier as last_carrier,
    latest.flight_id as last_flight_id,
    latest.departed_at as last_departed_at,
    latest.destination as last_destination,
    planes.manufacturer,
    planes.model,
    planes.seats
from latest
left join {{ source('ops', 'planes') }} as planes
    on latest.tail_number = planes.tailnum
{% if is_incremental() %}
-- A flight that landed late must not move a plane back to an earlier place.
left join {{ this }} as known
    on latest.tail_number = known.tail_number
where known.tail_number is null or latest.departed_at > known.last_departed_at
{% endif %}
