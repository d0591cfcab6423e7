"""The tables of TPC-H, as tpchgen-cli generates them, and the changes of a round, which are always the same.

As TPC-H requires, tpchgen-cli uses 8 of each 32 order keys. New orders use keys in between, as in refresh function 1 of
TPC-H. Changes are therefore scattered over all files.
"""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..lake import CATALOG, RAW, Lake
from ..merged import by_hand
from ..merged.cases import DEFAULT_LAYOUT, properties

QUERIES = Path(__file__).parent / "queries"


@dataclass(frozen=True)
class _Table:
    """A table. ``key``: the column by which the rows are sorted. ``files``: the number of files at scale 1."""

    key: str
    files: int


_TABLES = {
    "lineitem": _Table("l_orderkey", 32),
    "orders": _Table("o_orderkey", 8),
    "partsupp": _Table("ps_partkey", 4),
    "part": _Table("p_partkey", 2),
    "customer": _Table("c_custkey", 2),
    "supplier": _Table("s_suppkey", 1),
    "nation": _Table("n_nationkey", 1),
    "region": _Table("r_regionkey", 1),
}
TABLES = tuple(_TABLES)

CHANGED, APPENDED = "changed", "appended"
SERIES = {
    CHANGED: "0.1% of orders and their lines new, 0.1% of each updated, 0.05% of orders deleted with their lines",
    APPENDED: "0.1% of orders and their lines new",
}
"""The kinds of rounds, with the changes in each round."""
ROUNDS = {CHANGED: 2, APPENDED: 1}
"""The numbers of rounds that are measured, after the warm-up."""

_SLOTS = 1_000_000
_NEW, _UPDATED, _DELETED = 1000, 1000, 500
"""The numbers of slots per round for new, updated and deleted orders. Orders are distributed over slots by hash."""
_BLOCK, _USED = 32, 8
"""The size of a block of order keys, and the number of its keys that tpchgen-cli uses: the lowest."""
_ORDERS, _LINES = f"{CATALOG}.{RAW}.orders", f"{CATALOG}.{RAW}.lineitem"


def queries() -> dict[str, str]:
    """The SQL of the models, by the names of the queries."""
    relations = {name: f"{{{{ source('{RAW}', '{name}') }}}}" for name in TABLES}
    return {path.stem: path.read_text(encoding="utf-8").format_map(relations) for path in sorted(QUERIES.glob("*.sql"))}


def load(lake: Lake, scale: float, folder: Path) -> None:
    """Generate Parquet files in a folder, and create the tables from them."""
    generator = Path(sys.executable).with_name("tpchgen-cli")
    subprocess.run([generator, "parquet", "--scale-factor", str(scale), "--output-dir", folder], check=True)
    for name, table in _TABLES.items():
        lake.spark.read.parquet(str(folder / f"{name}.parquet")).createOrReplaceTempView(f"generated_{name}")
        files = max(1, math.ceil(table.files * scale))
        query = f"select /*+ repartition_by_range({files}, {table.key}) */ * from generated_{name} sort by {table.key}"
        lake.sql(by_hand.table_as(f"{CATALOG}.{RAW}.{name}", properties(DEFAULT_LAYOUT), query))


def change(lake: Lake, series: str, number: int) -> None:
    """Commit the changes of a round. Rounds are counted from 1 across both series."""
    for statement in statements(series, number):
        lake.sql(statement)


def statements(series: str, number: int) -> Iterator[str]:
    """The statements that change the tables in a round."""
    first = (number - 1) * (_NEW + _UPDATED + _DELETED)
    new, updated, deleted = first, first + _NEW, first + _NEW + _UPDATED
    shift = _USED * (1 + (number - 1) % (_BLOCK // _USED - 1))
    for table, key in ((_ORDERS, "o_orderkey"), (_LINES, "l_orderkey")):
        rows = f"select * except ({key}), {key} + {shift} as {key} from {table} where {_in_slots(key, new, _NEW)}"
        yield f"insert into {table} by name {rows}"
    if series == APPENDED:
        return
    yield (
        f"update {_ORDERS} set o_totalprice = o_totalprice + 1, o_orderdate = date_add(o_orderdate, 1),"
        " o_orderpriority = if(o_orderpriority = '1-URGENT', '5-LOW', '1-URGENT'), o_comment = 'special requests'"
        f" where {_in_slots('o_orderkey', updated, _UPDATED)}"
    )
    yield (
        f"update {_LINES} set l_quantity = l_quantity + 1, l_extendedprice = l_extendedprice + 100,"
        " l_shipdate = date_add(l_shipdate, 1), l_receiptdate = date_add(l_receiptdate, 1)"
        f" where {_in_slots('l_orderkey', updated, _UPDATED, 'l_orderkey, l_linenumber')}"
    )
    for table, key in ((_LINES, "l_orderkey"), (_ORDERS, "o_orderkey")):
        yield f"delete from {table} where {_in_slots(key, deleted, _DELETED)}"


def _in_slots(key: str, first: int, count: int, by: str | None = None) -> str:
    """SQL condition for rows of generated orders in a range of slots. ``by``: the columns whose hash is the slot."""
    slot = f"pmod(xxhash64({by or key}), {_SLOTS})"
    return f"pmod({key}, {_BLOCK}) < {_USED} and {slot} >= {first} and {slot} < {first + count}"
