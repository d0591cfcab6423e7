"""Models of a shop, in the style of dbt's example projects, are incremental by the keys of their grain."""

from __future__ import annotations

import pytest

from iceberg_incremental.query.plan import incremental_query
from iceberg_incremental.table.history import TableName

SCHEMA = {
    "shoppers": {"id": "int", "given_name": "string", "family_name": "string"},
    "sales": {"id": "int", "shopper": "int", "shop": "string", "sold_at": "timestamp", "state": "string",
              "net": "int", "tax": "int"},
    "payments": {"id": "int", "sale": "int", "method": "string", "cents": "int"},
    "lines": {"id": "string", "sale": "int", "article": "string"},
    "articles": {"code": "string", "title": "string", "kind": "string", "price": "int", "about": "string"},
    "materials": {"id": "string", "article": "string", "title": "string", "price": "double", "spoils": "boolean"},
    "shops": {"id": "string", "title": "string", "rate": "double", "opened_at": "timestamp"},
}  # fmt: skip
COLUMNS = {TableName("lake", "db", name): columns for name, columns in SCHEMA.items()}

STAGED_SALES = """
with source as (

    select * from db.sales

),

renamed as (

    select

        ----------  ids
        id as sale_id,
        shop as shop_id,
        shopper as shopper_id,

        ---------- numerics
        net as net_cents,
        net + tax as total_cents,
        round(cast((net / 100) as numeric(16, 2)), 2) as net,

        ---------- timestamps
        date_trunc('day', sold_at) as sold_at

    from source

),

-- a column that reads others
totalled as (

    select
        *,
        round(cast((total_cents / 100) as numeric(16, 2)), 2) as total

    from renamed

)

select * from totalled
"""

MODELS = {
    "renamed columns": ("with source as (select * from db.shoppers), "
        "renamed as (select id as shopper_id, given_name, family_name from source) select * from renamed",
        {"shopper_id": "int", "given_name": "string", "family_name": "string"},
        ("shopper_id", "given_name", "family_name")),
    "cents": (STAGED_SALES,
        {"sale_id": "int", "shop_id": "string", "shopper_id": "int", "net_cents": "int", "total_cents": "int",
         "net": "decimal(16,2)", "sold_at": "timestamp", "total": "decimal(16,2)"},
        ("sale_id", "shop_id", "shopper_id", "net_cents", "total_cents", "sold_at")),
    "a surrogate key": ("with source as (select * from db.materials), renamed as (select "
        "md5(cast(concat(coalesce(cast(id as string), '_null_'), '-', coalesce(cast(article as string), '_null_')) "
        "as string)) as material_key, id as material_id, (price / 100.0) as price, spoils as is_fresh from source) "
        "select * from renamed",
        {"material_key": "string", "material_id": "string", "price": "double", "is_fresh": "boolean"},
        ("material_key", "material_id", "is_fresh")),
    "kinds": ("select code as article_id, (price / 100.0) as price, case when kind = 'meal' then 1 else 0 end as "
        "is_meal, coalesce(kind = 'drink', false) as is_drink from db.articles",
        {"article_id": "string", "price": "decimal(10,2)", "is_meal": "int", "is_drink": "boolean"},
        ("article_id",)),
    "shoppers with their sales and payments": ("""
with shoppers as (select * from db.shoppers), sales as (select * from db.sales),
payments as (select * from db.payments),
shopper_sales as (
    select shopper, min(sold_at) as first_sale, max(sold_at) as last_sale, count(id) as number_of_sales
    from sales group by shopper
),
shopper_payments as (
    select sales.shopper, sum(cents) as total_cents
    from payments left join sales on payments.sale = sales.id
    group by sales.shopper
),
final as (
    select shoppers.id as shopper_id, shoppers.given_name, shopper_sales.first_sale, shopper_sales.last_sale,
        shopper_sales.number_of_sales, shopper_payments.total_cents as lifetime_cents
    from shoppers
    left join shopper_sales on shoppers.id = shopper_sales.shopper
    left join shopper_payments on shoppers.id = shopper_payments.shopper
)
select * from final""",
        {"shopper_id": "int", "given_name": "string", "first_sale": "timestamp", "last_sale": "timestamp",
         "number_of_sales": "bigint", "lifetime_cents": "bigint"},
        ("shopper_id", "given_name")),
    "payments by method": ("""
with sales as (select * from db.sales), payments as (select * from db.payments),
sale_payments as (
    select
        sale,
        sum(case when method = 'card' then cents else 0 end) as card_cents,
        sum(case when method = 'voucher' then cents else 0 end) as voucher_cents,
        sum(cents) as total_cents
    from payments
    group by sale
),
final as (
    select sales.id as sale_id, sales.shopper, sales.state, sale_payments.card_cents, sale_payments.voucher_cents,
        sale_payments.total_cents as cents
    from sales left join sale_payments on sales.id = sale_payments.sale
)
select * from final""",
        {"sale_id": "int", "shopper": "int", "state": "string", "card_cents": "bigint", "voucher_cents": "bigint",
         "cents": "bigint"},
        ("sale_id", "shopper", "state")),
    "lines with the cost of their materials": ("""
with lines as (select * from db.lines), sales as (select * from db.sales), articles as (select * from db.articles),
materials as (select * from db.materials),
costs as (select article, sum(price) as cost from materials group by 1),
joined as (
    select lines.*, sales.sold_at, articles.title, articles.price, costs.cost
    from lines
    left join sales on lines.sale = sales.id
    left join articles on lines.article = articles.code
    left join costs on lines.article = costs.article
)
select * from joined""",
        {"id": "string", "sale": "int", "article": "string", "sold_at": "timestamp", "title": "string", "price": "int",
         "cost": "double"},
        ("id", "sale", "article", "sold_at", "title", "price")),
    "sales in the order of each shopper": ("""
with sales as (select * from db.sales), lines as (select * from db.lines), articles as (select * from db.articles),
summary as (
    select
        lines.sale,
        sum(articles.price / 100.0) as worth,
        count(lines.id) as number_of_lines,
        sum(case when articles.kind = 'meal' then 1 else 0 end) as meals
    from lines join articles on lines.article = articles.code
    group by 1
),
labelled as (
    select sales.*, summary.worth, summary.number_of_lines, summary.meals > 0 as has_meal
    from sales
    left join summary on sales.id = summary.sale
),
numbered as (
    select *, row_number() over (partition by shopper order by sold_at asc) as number_of_shopper
    from labelled
)
select * from numbered""",
        {"id": "int", "shopper": "int", "shop": "string", "sold_at": "timestamp", "state": "string", "net": "int",
         "tax": "int", "worth": "decimal(38,6)", "number_of_lines": "bigint", "has_meal": "boolean",
         "number_of_shopper": "int"},
        ("shopper", "sold_at")),
    "shoppers with what they are worth": ("""
with shoppers as (select * from db.shoppers), sales as (select * from db.sales),
summary as (
    select
        sales.shopper,
        count(distinct sales.id) as number_of_sales,
        count(distinct sales.id) > 1 as comes_back,
        sum(sales.net) as net
    from sales
    where sales.shopper is not null and sales.id is not null
    group by 1
),
joined as (
    select shoppers.*, summary.number_of_sales, summary.net,
        case when summary.comes_back then 'returning' else 'new' end as kind
    from shoppers left join summary on shoppers.id = summary.shopper
)
select * from joined""",
        {"id": "int", "given_name": "string", "family_name": "string", "number_of_sales": "bigint", "net": "bigint",
         "kind": "string"},
        ("id", "given_name", "family_name")),
    "shops": ("select id as shop_id, title, rate, date_trunc('day', opened_at) as opened_on from db.shops",
        {"shop_id": "string", "title": "string", "rate": "double", "opened_on": "timestamp"},
        ("shop_id", "title")),
    "latest states, counted": ("""
with numbered as (
    select *, row_number() over (partition by id order by sold_at desc, shopper, shop, state, net, tax) as n
    from db.sales
),
latest as (select * from numbered where n = 1)
select state, count(*) as sales, sum(net) as net from latest group by state""",
        {"state": "string", "sales": "bigint", "net": "bigint"}, ("state",)),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_incremental_by_key(name: str) -> None:
    sql, types, key = MODELS[name]
    assert incremental_query(sql, COLUMNS, "lake", types).key == key
