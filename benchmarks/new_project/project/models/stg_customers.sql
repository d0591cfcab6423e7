select customer_id, upper(name) as name, region
from {{ source('raw', 'customers') }}
