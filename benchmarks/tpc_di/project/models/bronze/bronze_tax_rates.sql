select tx_id as tax_id, initcap(tx_name) as tax_name, cast(tx_rate as decimal(6, 5)) as tax_rate
from {{ source('raw', 'tax_rate') }}
where tx_rate is not null
