select
    cdc_dsn as sequence_number,
    action_ts as changed_at,
    ca_id as account_id,
    ca_c_id as customer_id,
    ca_b_id as broker_id,
    ca_name as account_name,
    ca_tax_st as tax_status,
    ca_st_id as status_id
from {{ source('raw', 'accounts') }}
where ca_id is not null
