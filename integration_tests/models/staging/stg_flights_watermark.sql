{{ config(
    materialized='incremental',
    incremental_strategy='append',
    partition_by='months(scheduled_departure_at)'
) }}

with flights as (
    select
        {{ flight_columns() }}
    from {{ source('ops', 'flights') }} as f
)

select *
from flights
{% if is_incremental() %}
where scheduled_departure_at > (select max(scheduled_departure_at) from {{ this }})
{% endif %}
