select in_id as industry_id, in_name as industry_name, in_sc_id as sector_id
from {{ source('raw', 'industry') }}
