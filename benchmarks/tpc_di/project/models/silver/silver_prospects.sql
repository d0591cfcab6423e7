with ranked as (
    select *, row_number() over (partition by agency_id order by recorded_on desc, line_number desc) as recency
    from {{ ref('bronze_prospects') }}
),

first_seen as (
    select agency_id, min(recorded_on) as first_recorded_on, count(*) as updates
    from {{ ref('bronze_prospects') }}
    group by agency_id
)

select
    l.agency_id,
    l.last_name,
    l.first_name,
    l.postal_code,
    l.city,
    l.income,
    l.net_worth,
    l.age,
    l.credit_rating,
    l.rents_home,
    concat_ws(
        '+',
        case when l.net_worth > 1000000 or l.income > 200000 then 'HighValue' end,
        case when l.number_children > 3 or l.number_credit_cards > 5 then 'Expenses' end,
        case when l.age > 45 then 'Boomer' end,
        case when l.income < 50000 or l.credit_rating < 600 or l.net_worth < 100000 then 'MoneyAlert' end,
        case when l.number_cars > 3 or l.number_credit_cards > 7 then 'Spender' end,
        case when l.age < 25 and l.net_worth > 1000000 then 'Inherited' end
    ) as marketing_nameplate,
    f.first_recorded_on,
    l.recorded_on as last_recorded_on,
    f.updates
from ranked as l
inner join first_seen as f on f.agency_id = l.agency_id
where l.recency = 1
