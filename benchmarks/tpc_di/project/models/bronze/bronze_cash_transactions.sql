select
    cdc_dsn as transaction_number,
    ct_ca_id as account_id,
    ct_dts as transacted_at,
    cast(ct_dts as date) as transacted_on,
    ct_amt as amount,
    ct_name as description
from {{ source('raw', 'cash_transactions') }}
