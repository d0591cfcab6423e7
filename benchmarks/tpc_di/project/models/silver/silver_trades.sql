with ranked as (
    select *, row_number() over (partition by trade_id order by sequence_number desc) as recency
    from {{ ref('bronze_trades') }}
),

events as (
    select
        trade_id,
        min(event_at) as created_at,
        max(case when status_id in ('CMPT', 'CNCL') then event_at end) as closed_at,
        min(case when status_id = 'SBMT' then event_at end) as submitted_at,
        count(*) as status_changes
    from {{ ref('bronze_trade_history') }}
    group by trade_id
)

select
    t.trade_id,
    e.created_at,
    e.submitted_at,
    e.closed_at,
    e.status_changes,
    s.status_name as status,
    tt.trade_type_name as trade_type,
    coalesce(tt.is_sell, false) as is_sell,
    t.is_cash,
    t.symbol,
    t.account_id,
    t.executor_name,
    t.quantity,
    t.bid_price,
    t.trade_price,
    cast(t.quantity * t.trade_price as decimal(18, 2)) as trade_value,
    t.fee,
    t.commission,
    t.tax
from ranked as t
inner join events as e on e.trade_id = t.trade_id
left join {{ ref('bronze_status_types') }} as s on s.status_id = t.status_id
left join {{ ref('bronze_trade_types') }} as tt on tt.trade_type_id = t.trade_type_id
where t.recency = 1
