select st_id as status_id, trim(st_name) as status_name
from {{ source('raw', 'status_type') }}
