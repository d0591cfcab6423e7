{{ config(
    incremental_strategy='merge',
    unique_key=['flight_date', 'carrier'],
    partition_by='months(flight_date)'
) }}

-- The changes show which groups changed; each of them is then recomputed from all of its flights.
with changed as (
    select distinct
        f.flight_date,
        f.carrier
    from {{ ip_changes(ref('stg_flights')) }} as f
),

flights as (
    select f.*
    from {{ ip_as_of(ref('stg_flights')) }} as f
    left semi join changed
        on f.flight_date = changed.flight_date and f.carrier = changed.carrier
)

select
    flight_date,
    carrier,
    count(*) as flights,
    count_if(status = 'cancelled') as cancelled,
    count_if(status = 'diverted') as diverted,
    count_if(arrival_delay_minutes > 15) as arrived_late,
    sum(arrival_delay_minutes) as arrival_delay_minutes,
    max(arrival_delay_minutes) as worst_arrival_delay_minutes
from flights
group by flight_date, carrier
