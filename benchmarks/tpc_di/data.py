"""The source tables, the batches that append to them, and a batch of updates and deletes in all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..lake import CATALOG, Lake
from ..merged import by_hand
from ..merged.cases import DEFAULT_LAYOUT, properties
from .rows import DAYS, PARTS, Entities, chance, closed_trades, of_part, one_of, pick

SHARES = {2: 0.0005, 3: 0.001}
"""The batches that append, and the number of their rows as a share of the initial load. Batch 1 is the initial load."""
CHANGED = 4
"""The batch that updates and deletes rows of all sources."""
CHANGED_SHARE = 0.001
_FILE = 100_000
"""The maximum number of rows per file of the initial load."""
_FINWIRE = "finwire"
_REFERENCES = {
    "status_type": """inline(array(('ACTV', 'Active'), ('CMPT', 'Completed'), ('CNCL', 'Canceled'), ('PNDG', 'Pending'),
        ('SBMT', 'Submitted'), ('INAC', 'Inactive'))) as t (st_id, st_name)""",
    "trade_type": """inline(array(('TMB', 'Market Buy', 0, 1), ('TMS', 'Market Sell', 1, 1), ('TSL', 'Stop Loss', 1, 0),
        ('TLS', 'Limit Sell', 1, 0), ('TLB', 'Limit Buy', 0, 0))) as t (tt_id, tt_name, tt_is_sell, tt_is_mrkt)""",
    "tax_rate": f"""(select concat('TX', number) as tx_id, concat('tax ', number) as tx_name,
        cast({pick(4000, "rate")} / 10000 as decimal(6, 5)) as tx_rate from range(320) as t (number))""",
    "industry": """(select lpad(conv(number, 10, 36), 2, '0') as in_id, concat('Industry ', number) as in_name,
        concat('sector ', number % 12) as in_sc_id from range(102) as t (number))""",
    "dates": """(select int(date_format(day, 'yyyyMMdd')) as sk_date_id, day as date_value,
        date_format(day, 'MMMM d, yyyy') as date_desc, dayofweek(day) as day_of_week_num,
        date_format(day, 'EEEE') as day_of_week_desc
        from (select date_add(date'1950-01-01', int(number)) as day from range(25933) as t (number)))""",
    "times": """(select int(number) as sk_time_id, int(number div 3600) as hour_id,
        int(number div 60 % 60) as minute_id, int(number % 60) as second_id,
        number between 34200 and 57600 as market_hours_flag
        from range(86400) as t (number))""",
}
"""Tables whose contents do not depend on the number of trades."""


@dataclass(frozen=True)
class _Change:
    """How a batch changes rows of a source. ``key``: the columns that identify a row. ``sets``: by column, in SQL."""

    key: tuple[str, ...]
    sets: Mapping[str, str]


_CHANGES = {
    "tax_rate": _Change(("tx_id",), {"tx_rate": "t.tx_rate + 0.001"}),
    "industry": _Change(("in_id",), {"in_name": "concat(t.in_name, ' and others')"}),
    "dates": _Change(("sk_date_id",), {"date_desc": "upper(t.date_desc)"}),
    "times": _Change(("sk_time_id",), {"market_hours_flag": "not t.market_hours_flag"}),
    "employees": _Change(("employee_id",), {"employee_branch": "'Moved'"}),
    "customers": _Change(("cdc_dsn",), {"c_tier": "'3'", "c_city": "'Bergen'"}),
    "accounts": _Change(("cdc_dsn",), {"ca_b_id": "0", "ca_tax_st": "1 - least(1, t.ca_tax_st)"}),
    "trades": _Change(("t_id", "cdc_dsn"), {"t_qty": "t.t_qty + 10", "t_comm": "t.t_comm + 1"}),
    "trade_history": _Change(("th_t_id", "th_st_id"), {"th_dts": "t.th_dts + interval 1 minute"}),
    "cash_transactions": _Change(("cdc_dsn",), {"ct_amt": "t.ct_amt + 1"}),
    "holding_history": _Change(("cdc_dsn",), {"hh_after_qty": "t.hh_after_qty + 5"}),
    "watch_history": _Change(("cdc_dsn",), {"w_dts": "t.w_dts + interval 1 hour"}),
    "daily_market": _Change(("dm_date", "dm_s_symb"), {"dm_high": "t.dm_high + 1", "dm_vol": "t.dm_vol + 100"}),
    "prospects": _Change(("line_number",), {"net_worth": "'1500000'", "age": "t.age + 1"}),
    # the revenue of a line of financials, the rating of a company, the number of shares of a security
    _FINWIRE: _Change(
        ("line",),
        {
            "line": "case substring(t.line, 16, 3) when 'FIN' then overlay(t.line placing '9' from 56 for 1)"
            " when 'CMP' then overlay(t.line placing 'AAA ' from 95 for 4)"
            " else overlay(t.line placing '9' from 132 for 1) end"
        },
    ),
}
"""By source. In the sources of less than ten rows, a batch updates or inserts one row."""
_SMALL_CHANGES = {
    "status_type": "update {} set st_name = 'Not active' where st_id = 'INAC'",
    "trade_type": "insert into {} values ('TRX', 'Retired', 0, 0)",
}
SOURCES = (*_SMALL_CHANGES, *_CHANGES)


class Data:
    """The sources in a schema. ``trades``: the number of trades in the initial load."""

    def __init__(self, schema: str, trades: int) -> None:
        self.schema = schema
        self.entities = Entities(trades)

    def make(self, lake: Lake) -> None:
        """Create the tables. Each file contains rows with successive numbers."""
        lake.sql(f"create schema if not exists {CATALOG}.{self.schema}")
        for name, rows in _REFERENCES.items():
            self._create(lake, name, f"select /*+ coalesce(1) */ * from {rows}")
        self._create(lake, "employees", self._employees())
        counts = self.entities.counts()
        for part in PARTS:
            count = counts[part]
            numbers = f"select /*+ repartition_by_range({math.ceil(count / _FILE)}, number) */ * from"
            rows = of_part(part, self.entities, f"({numbers} range(0, {count}) as t (number))")
            if self._table(part) == self._table(_FINWIRE) and part != "finwire_companies":
                lake.sql(f"insert into {self._table(part)} {rows}")
            else:
                self._create(lake, part, rows)

    def change(self, lake: Lake, batch: int) -> None:
        """Commit a batch."""
        for statement in self.statements(batch):
            lake.sql(statement)

    def statements(self, batch: int) -> Iterator[str]:
        """The statements of a batch after the initial load."""
        if batch == CHANGED:
            yield from self._changes()
            return
        day = DAYS + batch - 2
        for part in PARTS:
            first, end = self.numbers(part, batch)
            numbers = f"(select /*+ coalesce(1) */ * from range({first}, {end}) as t (number))"
            yield f"insert into {self._table(part)} {of_part(part, self.entities, numbers, day)}"
        opened_before, _ = self.numbers("trades", batch)
        for name, rows in closed_trades(self.entities, opened_before, batch, day).items():
            yield f"insert into {self._table(name)} select /*+ coalesce(1) */ * from ({rows})"

    def numbers(self, part: str, batch: int) -> tuple[int, int]:
        """The numbers of the rows that a batch adds to a source, as a half-open range."""
        first, end = (self._end(part, each) for each in (batch - 1, batch))
        return first, end

    def _end(self, part: str, batch: int) -> int:
        """The number after the last row of a batch."""
        count = self.entities.counts()[part]
        if part == "daily_market":
            return count + (batch - 1) * self.entities.securities
        return count + batch - 1 + int(count * sum(share for each, share in SHARES.items() if each <= batch))

    def _changes(self) -> Iterator[str]:
        for name, sql in _SMALL_CHANGES.items():
            yield sql.format(self._table(name))
        for name, change in _CHANGES.items():
            table, keys = self._table(name), ", ".join(change.key)
            share = max(CHANGED_SHARE, 3 / self._rows(name))
            chosen = f"select {keys}, {chance(keys, 'deleted')} < 0.3 as is_deleted from {table}"
            same = " and ".join(f"t.{key} = s.{key}" for key in change.key)
            sets = ", ".join(f"t.{column} = {sql}" for column, sql in change.sets.items())
            chosen = f"select distinct * from ({chosen} where {chance(keys, 'changed')} < {share})"
            yield (
                f"merge into {table} as t using ({chosen}) as s on {same}"
                f" when matched and s.is_deleted then delete when matched then update set {sets}"
            )

    def _rows(self, name: str) -> int:
        """The number of rows of a source in the initial load."""
        counts = {"tax_rate": 320, "industry": 102, "dates": 25_933, "times": 86_400, **self.entities.counts()}
        counts["employees"] = self.entities.employees
        return counts.get(name) or sum(count for part, count in counts.items() if part.startswith(name))

    def _employees(self) -> str:
        return f"""select /*+ coalesce(1) */ number as employee_id, number div 10 as manager_id,
            {one_of("first", "Ann", "Bob", "Carla", "Dave", "Eve", "Farid")} as employee_first_name,
            {one_of("last", "Smith", "Jones", "Garcia", "Lee", "Novak")} as employee_last_name,
            if(number % 3 = 0, 314, int(300 + {pick(14, "job")})) as employee_job_code,
            concat('branch ', {pick(40, "branch")}) as employee_branch,
            concat('office ', {pick(200, "office")}) as employee_office
            from range({self.entities.employees}) as t (number)"""

    def _create(self, lake: Lake, part: str, rows: str) -> None:
        lake.sql(by_hand.table_as(self._table(part), properties(DEFAULT_LAYOUT), rows))

    def _table(self, part: str) -> str:
        return f"{CATALOG}.{self.schema}.{_FINWIRE if part.startswith(_FINWIRE) else part}"
