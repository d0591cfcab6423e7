with numbered as (
    select *, row_number() over (partition by customer_id order by change_id desc) as number
    from {{ source('raw', 'customer_changes') }}
)

select customer_id, name, email, country, segment, changed_at
from numbered
where number = 1 and op <> 'd'
