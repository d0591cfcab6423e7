with versions as (
    select
        *,
        lead(posted_at) over (partition by cik order by posted_at) as next_posted_at
    from {{ ref('bronze_companies') }}
)

select
    v.cik,
    v.company_name,
    s.status_name as status,
    i.industry_name as industry,
    i.sector_id,
    v.sp_rating,
    coalesce(v.sp_rating not rlike '^(AAA|AA|A|BBB)[+-]?$', true) as is_low_grade,
    v.founded_on,
    v.city,
    v.country,
    v.ceo_name,
    v.description,
    v.posted_at as valid_from,
    coalesce(v.next_posted_at, timestamp '9999-12-31 00:00:00') as valid_to,
    v.next_posted_at is null as is_current
from versions as v
inner join {{ ref('bronze_status_types') }} as s on s.status_id = v.status_id
left join {{ ref('bronze_industries') }} as i on i.industry_id = v.industry_id
