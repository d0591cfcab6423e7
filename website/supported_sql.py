"""Generates the table of the SQL that ``auto`` supports, from what the code says about an example of each construct."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from iceberg_incremental.query.plan import incremental_query
from iceberg_incremental.query.rules.operators import How
from iceberg_incremental.query.text.clock import with_marks
from iceberg_incremental.query.text.refusal import NotAFunction
from iceberg_incremental.table.history import TableName

_CATALOG = "lake"
_SCHEMA = {
    "a": {"k": "int", "x": "int", "s": "string", "d": "double", "day": "date", "l": "array<int>"},
    "b": {"k": "int", "y": "int", "s": "string"},
}
_COLUMNS = {TableName(_CATALOG, "db", name): columns for name, columns in _SCHEMA.items()}
_IN_ORDER: tuple[How, ...] = ("incremental", "grouped", "compared", "opaque")
_MEANING = {
    "incremental": "the changed rows",
    "grouped": "the groups, partitions or values that contain a changed row",
    "compared": "the rows that differ between both states of this part",
    "opaque": "all rows of this part",
}
WHOLE = "all rows of the table"
REFUSED = "error"


@dataclass(frozen=True)
class Example:
    """``sql``: a query. ``types``: those of its columns. ``part``: those of a part that is computed as a whole."""

    sql: str
    types: Mapping[str, str]
    part: Mapping[str, str] | None = None


def _ints(names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), "int")


_PIVOTED = "select * from (select k, s from db.a) pivot (count(*) for s in ('p' as p))"
EXAMPLES: Mapping[str, Example] = {
    "WHERE, CASE, casts, built-in functions": Example("select k, x + 1 as x from db.a where x > 1", _ints("k x")),
    "JOIN, CROSS JOIN, NATURAL JOIN, USING": Example("select a.k, y from db.a join db.b using (k)", _ints("k y")),
    "LEFT, RIGHT and FULL JOIN": Example("select a.k, y from db.a full join db.b on a.k = b.k", _ints("k y")),
    "LEFT SEMI and LEFT ANTI JOIN": Example("select k from db.a left anti join db.b on a.k = b.k", _ints("k")),
    "JOIN LATERAL, LEFT JOIN LATERAL": Example(
        "select a.k, m from db.a join lateral (select y as m from db.b where b.k = a.k) t", _ints("k m")
    ),
    "LATERAL VIEW, generators in a SELECT list, JOIN LATERAL with a function": Example(
        "select k, e from db.a lateral view explode(l) t as e", _ints("k e")
    ),
    "UNION ALL, UNION ALL BY NAME": Example("select k from db.a union all select k from db.b", _ints("k")),
    "EXISTS, IN and NOT IN": Example(
        "select k from db.a where k not in (select k from db.b where b.y = a.x)", _ints("k")
    ),
    "scalar subqueries, also with groups and LIMIT": Example(
        "select k, (select max(y) from db.b where b.k = a.k) as y from db.a", _ints("k y")
    ),
    "the time ([rules](plain-sql.md#the-time))": Example("select k from db.a where day >= current_date", _ints("k")),
    "COLLATE in a comparison": Example("select k from db.a where s collate utf8_lcase = 'p'", _ints("k")),
    "GROUP BY (also ordinals, aliases and ALL), HAVING, FILTER": Example(
        "select k, count(*) as n from db.a group by k having count(*) > 1", _ints("k n")
    ),
    "ROLLUP, CUBE, GROUPING SETS, grouping()": Example(
        "select k, x, count(*) as n from db.a group by cube (k, x)", _ints("k x n")
    ),
    "DISTINCT, UNION": Example("select distinct k, x from db.a", _ints("k x")),
    "INTERSECT, EXCEPT, MINUS, also with ALL": Example("select k from db.a except all select k from db.b", _ints("k")),
    "windows with PARTITION BY, QUALIFY": Example(
        "select k, x from db.a qualify rank() over (partition by k order by x) = 1", _ints("k x")
    ),
    "windows with different PARTITION BYs": Example(
        "select k, x, count(*) over (partition by k) as n, count(*) over (partition by x) as m from db.a",
        _ints("k x n m"),
    ),
    "a total in a part": Example("select k, n from db.a cross join (select count(*) as n from db.b) t", _ints("k n")),
    "windows without PARTITION BY that only look back": Example(
        "select k, sum(x) over (order by k) as n from db.a", _ints("k n")
    ),
    "another window without PARTITION BY in a part": Example(
        "select t.k, r, y from (select k, count(*) over () as r from db.a) t join db.b on b.k = t.k",
        _ints("k r y"),
    ),
    "LIMIT and OFFSET in a part": Example(
        "select t.k, y from (select k from db.a order by k limit 3) t join db.b on b.k = t.k", _ints("k y")
    ),
    "PIVOT in a part": Example(
        f"select t.k, t.p, y from ({_PIVOTED}) t join db.b on b.k = t.k", _ints("k p y"), {"k": "int", "p": "bigint"}
    ),
    "UNPIVOT in a part": Example(
        "select t.k, v, y from (select k, n, v from (select k, x, k + x as z from db.a) unpivot (v for n in (x, z))) t "
        "join db.b on b.k = t.k",
        _ints("k v y"),
        {"k": "int", "n": "string", "v": "int"},
    ),
    "WITH RECURSIVE": Example(
        "with recursive r(k, n) as (select k, 1 from db.a union all select k, n + 1 from r where n < 3) "
        "select r.k, n, y from r join db.b on b.k = r.k",
        _ints("k n y"),
        _ints("k n"),
    ),
    "a part with a construct of the previous row, if it returns a map or a floating-point number": Example(
        "select t.k, y from (select k, avg(k) over () as r from db.a order by k limit 3) t join db.b on b.k = t.k",
        _ints("k y"),
    ),
    "LIMIT and OFFSET at the end": Example("select k from db.a order by k limit 3", _ints("k")),
    "another window without PARTITION BY in the last SELECT": Example(
        "select k, count(*) over () as r from db.a", _ints("k r")
    ),
    "PIVOT or UNPIVOT in the last SELECT": Example(_PIVOTED, {"k": "int", "p": "bigint"}, {"k": "int", "p": "bigint"}),
    "GROUP BY, DISTINCT or PARTITION BY a map": Example(
        "select count(*) as n from db.a group by map(s, x)", _ints("n")
    ),
    "functions without a fixed value, such as rand()": Example("select k, rand() as r from db.a", _ints("k r")),
    "TABLESAMPLE": Example("select k from db.a tablesample (10 percent)", _ints("k")),
    "functions of your own that are not declared": Example("select my_function(k) as k from db.a", _ints("k")),
}


def affected_rows(example: Example) -> str:
    """The rows of a query or of a part of it that a change of its sources affects."""
    try:
        kept = incremental_query(
            with_marks(example.sql), _COLUMNS, _CATALOG, example.types, (), lambda sql: example.part or {}
        )
    except NotAFunction:
        return REFUSED
    if kept.whole is not None or not kept.key:
        return WHOLE
    found = [each.how for tree in kept.operators() for each in tree.walk()]
    return _MEANING[max(found, key=_IN_ORDER.index)]


def rows() -> Iterator[tuple[str, str]]:
    """The rows of the table: the affected rows, and the SQL in which a change affects these."""
    by_effect: dict[str, list[str]] = {}
    for name, example in EXAMPLES.items():
        by_effect.setdefault(affected_rows(example), []).append(name)
    return ((effect, "; ".join(names)) for effect, names in by_effect.items())
