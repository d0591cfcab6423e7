select
    line_number,
    record_date as recorded_on,
    agency_id,
    initcap(trim(last_name)) as last_name,
    initcap(trim(first_name)) as first_name,
    postal_code,
    city,
    cast(income as int) as income,
    number_cars,
    number_children,
    marital_status,
    age,
    credit_rating,
    own_or_rent_flag = 'R' as rents_home,
    number_credit_cards,
    cast(net_worth as int) as net_worth
from {{ source('raw', 'prospects') }}
