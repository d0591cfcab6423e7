"""The sources of the pipeline, and the changes of a day.

All values are computed from the numbers of the rows, so every run uses the same rows. The sources contain 500 days, so
each day has 0.2% of their rows. One row in twenty arrives up to two weeks late.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..lake import CATALOG, RAW, Lake
from ..merged import by_hand
from ..merged.cases import DEFAULT_LAYOUT, properties

DAYS = 500
_SHARES = {
    "web_events": 0.40,
    "app_events": 0.15,
    "order_lines": 0.28,
    "orders": 0.10,
    "payments": 0.05,
    "customer_changes": 0.015,
    "products": 0.004,
    "stores": 0.001,
}
"""The share of each source in all rows."""
SOURCES = tuple(_SHARES)
GROWING = tuple(name for name in SOURCES if name not in ("products", "stores"))
"""The sources to which each day adds rows."""
_MOST_FILES = 32
_SESSION = 8
"""The number of events per session."""
_RECENT = 5
"""The number of previous days whose orders and order lines can still change."""


class Data:
    """The sources. ``rows``: the total number of their rows."""

    def __init__(self, rows: int) -> None:
        self.counts = {name: max(DAYS, round(rows * share)) for name, share in _SHARES.items()}
        self._customers = max(1, self.counts["customer_changes"] * 2 // 3)

    def make(self, lake: Lake) -> None:
        """Create the tables. Each file contains rows that arrived in succession."""
        for name, count in self.counts.items():
            files = max(1, math.ceil(_MOST_FILES * _SHARES[name]))
            query = f"select /*+ repartition_by_range({files}, number) */ * from range(0, {count}) as t (number)"
            rows = self._rows(name, f"({query})")
            lake.sql(by_hand.table_as(_table(name), properties(DEFAULT_LAYOUT), rows))

    def change(self, lake: Lake, day: int) -> None:
        """Commit the changes of a day, counted from 1."""
        for statement in self.statements(day):
            lake.sql(statement)

    def statements(self, day: int) -> Iterator[str]:
        """The statements that change the tables on a day: new rows, repeated events, updates and deletes."""
        for name in GROWING:
            first, end = self._numbers(name, day)
            rows = self._rows(name, f"(select /*+ coalesce(1) */ * from range({first}, {end}) as t (number))")
            yield f"insert into {_table(name)} {rows}"
        first, end = self._numbers("web_events", day)
        yield (
            f"insert into {_table('web_events')} by name select * except (received_at),"
            f" received_at + interval '1' hour as received_at from {_table('web_events')}"
            f" where event_id >= {first} and event_id < {end} and {_chance('event_id', 'again')} < 0.01"
        )
        first, end = self._numbers("orders", day - _RECENT)[0], self._numbers("orders", day)[0]
        yield (
            f"update {_table('orders')} set status = 'shipped'"
            f" where order_id >= {first} and order_id < {end} and {_chance('order_id', f'ships {day}')} < 0.1"
        )
        first, end = self._numbers("order_lines", day - _RECENT)[0], self._numbers("order_lines", day)[0]
        yield (
            f"delete from {_table('order_lines')}"
            f" where line_id >= {first} and line_id < {end} and {_chance('line_id', f'goes {day}')} < 0.01"
        )
        yield (
            f"update {_table('products')} set cost = cost + 0.01 where {_chance('product_id', f'costs {day}')} < 0.001"
        )

    def _numbers(self, name: str, day: int) -> tuple[int, int]:
        """The numbers of the rows that a day adds to a source, as a half-open range."""
        count = self.counts[name]
        return count * (DAYS + day - 1) // DAYS, count * (DAYS + day) // DAYS

    def _rows(self, name: str, numbers: str) -> str:
        """SQL of a source's rows. ``numbers``: a relation with the numbers of the rows."""
        day = f"int(number * {DAYS} div {self.counts[name]})"
        at = f"timestampadd(second, {_pick(86_400, 'second')}, date_add(date'2025-01-01', {day}))"
        late = f"if({_chance('number', 'late')} < 0.05, {_pick(14 * 24, 'hours')}, 0)"
        columns = self._columns(name, at, f"timestampadd(hour, -{late}, {at})")
        return f"select {columns} from {numbers}"

    def _columns(self, name: str, arrived: str, happened: str) -> str:
        products, stores = (self.counts[each] for each in ("products", "stores"))
        orders = self.counts["orders"]
        session = f"number div {_SESSION}"
        user = f"pmod(xxhash64({session}, 'user'), {self._customers})"
        order = f"number * {orders} div {self.counts[name]}"
        return {
            "web_events": f"""number as event_id, {session} as session_id,
                if({_chance("number", "unknown")} < 0.02, null, {user}) as user_id,
                {_one_of("type", "View", "VIEW", "view", "Cart", "cart", "Purchase", "Search")} as event_type,
                {_pick(products, "product")} as product_id, {happened} as event_at, {arrived} as received_at,
                {_chance("number", "test")} < 0.01 as is_test""",
            "app_events": f"""number as id, {session} as session, {user} as account,
                {_one_of("type", "screen", "screen", "add", "pay", "open")} as kind,
                {_pick(products, "product")} as item, {happened} as at, {arrived} as arrived_at""",
            "order_lines": f"""number as line_id, {order} as order_id, {_pick(products, "product")} as product_id,
                int({_pick(10, "quantity")}) as quantity,
                cast({_pick(100_000, "price")} / 100 as decimal(10, 2)) as unit_price,
                cast({_pick(30, "discount")} / 100 as decimal(3, 2)) as discount""",
            "orders": f"""number as order_id, {_pick(self._customers, "customer")} as customer_id,
                {_pick(stores, "store")} as store_id,
                {_one_of("status", "placed", " paid", "Shipped", "cancelled")} as status, {happened} as ordered_at""",
            "payments": f"""number as payment_id, {order} as order_id,
                cast({_pick(500_000, "amount")} / 100 as decimal(12, 2)) as amount, {happened} as paid_at""",
            "customer_changes": f"""{_pick(self._customers, "customer")} as customer_id, number as change_id,
                if({_chance("number", "deleted")} < 0.01, 'd', 'u') as op, concat('name ', number) as name,
                concat('mail', number, '@example.com') as email,
                {_one_of("country", "DE", "FR", "US", "JP")} as country,
                {_one_of("segment", "home", "business", "public")} as segment, {arrived} as changed_at""",
            "products": f"""number as product_id, concat('category ', {_pick(20, "category")}) as category,
                concat('brand ', {_pick(200, "brand")}) as brand,
                cast({_pick(5_000, "cost")} / 100 as decimal(10, 2)) as cost""",
            "stores": f"""number as store_id, concat('region ', {_pick(12, "region")}) as region""",
        }[name]


def _table(name: str) -> str:
    return f"{CATALOG}.{RAW}.{name}"


def _pick(many: int, salt: str) -> str:
    """SQL of a whole number in [0, ``many``) that depends on the row's number and the salt."""
    return f"pmod(xxhash64(number, '{salt}'), {many})"


def _chance(column: str, salt: str) -> str:
    """SQL of a number in [0, 1) that depends on a column and the salt."""
    return f"pmod(xxhash64({column}, '{salt}'), 1000000) / 1000000"


def _one_of(salt: str, *values: str) -> str:
    """SQL of one of several texts, which depends on the row's number and the salt."""
    listed = ", ".join(f"'{value}'" for value in values)
    return f"array({listed})[int({_pick(len(values), salt)})]"
