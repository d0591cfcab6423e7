select
    sk_date_id as date_key,
    date_value,
    date_desc,
    year(date_value) as year_number,
    quarter(date_value) as quarter_number,
    month(date_value) as month_number,
    date_trunc('month', date_value) as month_starts_at,
    day_of_week_desc as day_name,
    day_of_week_num in (1, 7) as is_weekend
from {{ source('raw', 'dates') }}
