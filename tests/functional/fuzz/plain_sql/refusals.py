"""Queries with a special construct around another query. Some must be refused, others must be accepted.

The table of a query that must be refused would differ from its rebuild, now or later.
"""

from __future__ import annotations

import random
from dataclasses import replace

from .queries import Query
from .values import ORDERED, Column, Kind

MUST = ("rand", "uuid", "monotonic", "tablesample", "without cast", "part", "folded")
MAY = (
    "full join", "natural", "rollup", "cube", "grouping sets", "union", "intersect", "except", "generator", "values",
    "lateral", "limit", "offset", "current_date", "now", "current_timestamp", "today", "not between", "pivot",
    "recursive", "total window",
)  # fmt: skip


def refused(rng: random.Random, query: Query) -> tuple[Query, str, bool]:
    """A query with one of these constructs around another query, the construct, and whether it must be refused."""
    must = rng.random() < 0.5
    what = rng.choice(MUST if must else MAY)
    sortable = [column for column in query.columns if column.kind in ORDERED and column.kind is not Kind.SPARE]
    if not sortable or len(sortable) < len(query.columns):
        what, must = "rand", True
    column = f"q.`{rng.choice(sortable).name}`" if sortable else "1"
    order = ", ".join(str(place + 1) for place in range(len(query.columns)))
    sql, columns = _around(what, query.sql, column, order)
    kept = {"*": query.columns}.get(columns or "*") or (Column("c", Kind.INT),)
    return replace(query, sql=sql, columns=kept), what, must


def _around(what: str, sql: str, column: str, order: str) -> tuple[str, str | None]:
    """The query, and ``*`` if it has the columns of the inner query. ``order``: the ordinals of all columns."""
    inner = f"({sql})"
    by = f"select {column} as c, count(*) as n from {inner} q group by"
    forms = {
        "limit": (f"select * from {inner} q order by {order} limit 3", "*"),
        "offset": (f"select * from {inner} q order by {column} desc, {order} offset 1", "*"),
        "natural": (f"select q.* from {inner} q natural join (select distinct {column} from {inner} q) r", "*"),
        "pivot": (
            f"select * from (select {column} as c, 1 as one from {inner} q) pivot (count(one) for one in (1, 2))",
            "c",
        ),
        "recursive": (
            f"with recursive steps(n) as (select 1 union all select n + 1 from steps where n < 3) "
            f"select {column} as c, n from {inner} q join steps on n < 3",
            "c",
        ),
        "total window": (f"select {column} as c, count(*) over () as n from {inner} q", "c"),
        "rand": (f"select * from {inner} q where rand() < 0.5", "*"),
        "uuid": (f"select {column} as c, uuid() as u from {inner} q", "c"),
        "current_date": (f"select * from {inner} q where date '2020-01-01' < current_date", "*"),
        "now": (f"select * from {inner} q where now() > timestamp '2020-01-01 00:00:00'", "*"),
        "today": (f"select * from {inner} q where timestamp '2020-01-01 00:00:00' < 'today'", "*"),
        "not between": (f"select * from {inner} q where date '2020-01-01' not between 'yesterday' and 'today'", "*"),
        "without cast": (f"select {column} as c, nullif(date '2020-01-01', ' Today ') as d from {inner} q", "c"),
        "part": (f"select {column} as c, extract(day from 'tomorrow') as d from {inner} q", "c"),
        "folded": (f"select * from {inner} q where timestamp '2020-01-01 00:00:00' < lower('TO' || 'DAY')", "*"),
        "current_timestamp": (
            f"select * from {inner} q where {column} is null or year(current_timestamp()) > 2000",
            "*",
        ),
        "monotonic": (f"select {column} as c, monotonically_increasing_id() as m from {inner} q", "c"),
        "tablesample": (f"select * from {inner} tablesample (100 percent) as q", "*"),
        "full join": (f"select q.* from {inner} q full join {inner} r on {column} = r.{column[2:]}", "*"),
        "rollup": (f"{by} rollup({column})", "c"),
        "cube": (f"{by} cube({column})", "c"),
        "grouping sets": (f"{by} grouping sets (({column}), ())", "c"),
        "union": (f"select * from {inner} q union select * from {inner} r", "*"),
        "intersect": (f"select * from {inner} q intersect select * from {inner} r", "*"),
        "except": (f"select * from {inner} q except select * from {inner} r where 1 = 0", "*"),
        "generator": (f"select {column} as c, explode(array(1, 2)) as e from {inner} q", "c"),
        "values": (f"select q.* from {inner} q join (values (1), (2)) as w(n) on true", "*"),
        "lateral": (f"select q.*, l.one from {inner} q, lateral (select {column} as one) l", "c"),
    }
    return forms[what]
