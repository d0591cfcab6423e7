{{ config(partition_by='months(scheduled_departure_at)') }}

select
    {{ flight_columns() }}
from {{ ip_changes(source('ops', 'flights')) }} as f
