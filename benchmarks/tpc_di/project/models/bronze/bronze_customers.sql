select
    cdc_dsn as sequence_number,
    cdc_flag = 'I' as is_new_customer,
    action_ts as changed_at,
    c_id as customer_id,
    c_tax_id as tax_id,
    c_st_id as status_id,
    initcap(trim(c_l_name)) as last_name,
    initcap(trim(c_f_name)) as first_name,
    nullif(upper(trim(c_gndr)), '') as gender,
    cast(c_tier as int) as tier,
    cast(c_dob as date) as born_on,
    c_adline1 as address_line,
    c_zipcode as postal_code,
    c_city as city,
    c_ctry as country,
    lower(c_email_1) as email,
    c_lcl_tx_id as local_tax_id,
    c_nat_tx_id as national_tax_id
from {{ source('raw', 'customers') }}
where c_id is not null
