{{ config(partition_by='months(scheduled_departure_at)') }}

select
    f.flight_id,
    f.flight_date,
    f.origin,
    f.scheduled_departure_at,
    f.departure_delay_minutes,
    weather.temp as temperature_f,
    weather.wind_speed as wind_speed_mph,
    weather.precip as precipitation_inches,
    weather.visib as visibility_miles
from {{ ip_changes(ref('stg_flights')) }} as f
left join {{ source('ops', 'weather') }} as weather
    on
        f.origin = weather.origin
        and date_trunc('hour', f.scheduled_departure_at) = weather.time_hour
