with versions as (
    select
        *,
        row_number() over (partition by customer_id order by changed_at, sequence_number) as version_number,
        lead(changed_at) over (partition by customer_id order by changed_at, sequence_number) as next_changed_at
    from {{ ref('bronze_customers') }}
)

select
    v.customer_id,
    v.version_number,
    v.tax_id,
    s.status_name as status,
    v.last_name,
    v.first_name,
    case when v.gender in ('M', 'F') then v.gender else 'U' end as gender,
    v.tier,
    v.born_on,
    v.address_line,
    v.postal_code,
    v.city,
    v.country,
    v.email,
    v.local_tax_id,
    v.national_tax_id,
    v.changed_at as valid_from,
    coalesce(v.next_changed_at, timestamp '9999-12-31 00:00:00') as valid_to,
    v.next_changed_at is null as is_current
from versions as v
left join {{ ref('bronze_status_types') }} as s on s.status_id = v.status_id
