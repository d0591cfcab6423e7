{#- Both staging models use this macro, so they differ only in how they find new rows. -#}
{% macro flight_columns() -%}
    concat_ws('-', make_date(f.year, f.month, f.day), f.carrier, f.flight, f.origin) as flight_id,
    make_date(f.year, f.month, f.day) as flight_date,
    f.carrier,
    f.flight as flight_number,
    f.tailnum as tail_number,
    f.origin,
    f.dest as destination,
    case
        when f.dep_time is null then 'cancelled'
        when f.air_time is null then 'diverted'
        else 'landed'
    end as status,
    timestampadd(minute, f.minute, f.time_hour) as scheduled_departure_at,
    timestampadd(minute, f.minute + f.dep_delay, f.time_hour) as departed_at,
    f.dep_delay as departure_delay_minutes,
    f.arr_delay as arrival_delay_minutes,
    f.air_time as air_time_minutes,
    f.distance as distance_miles
{%- endmacro %}
