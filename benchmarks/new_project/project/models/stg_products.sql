select product_id, title, category, price
from {{ source('raw', 'products') }}
