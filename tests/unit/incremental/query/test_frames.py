"""Minimums and maximums of long frames, divided into blocks, equal those that DuckDB computes frame by frame.

``QUERY_FRAMES``: the number of random queries.
"""

from __future__ import annotations

import os
import random

import pytest

from iceberg_incremental.query.algebra import frames

from .kept_tables import Tables

MANY = int(os.environ.get("QUERY_FRAMES", "50"))
LENGTHS = (2, 3, 4, 7)
ORDERS = {"a": "x, s", "b": "y desc, s, num", "c": "z, y, s desc, num"}
"""By table: an order by all columns with exact values. Rows that are equal in it have equal values."""


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "LEAST_ROWS", 2)


def _frame(rng: random.Random) -> str:
    last = rng.choice((0, 0, 1, 2))
    first = last + rng.choice(LENGTHS) - 1
    if last == 0 and rng.random() < 0.3:
        return f"rows {first} preceding"
    return f"rows between {first} preceding and {f'{last} preceding' if last else 'current row'}"


def _query(rng: random.Random) -> str:
    """A query with several frames of one or several windows, also in expressions, QUALIFY, CTEs and under groups."""
    table = rng.choice([*ORDERS])
    first, number = ("k", "x") if table == "a" else ("k", "y") if table == "b" else ("y", "z")

    part = rng.choice((f"partition by {first}", f"partition by {first}", f"partition by {first}, s"))

    def window() -> str:
        return f"{part} order by {first}, {ORDERS[table]} {_frame(rng)}"

    def extreme(value: str = number) -> str:
        return f"{rng.choice(('min', 'max'))}({value}) over ({window()})"

    listed = [f"{extreme()} as e", f"{extreme(rng.choice(('s', f'{number} + 1')))} as f"]
    if rng.random() < 0.5:
        listed.append(f"coalesce({extreme()}, 0) - {number} as g")
    if rng.random() < 0.4:
        listed.append(f"sum({number}) over ({part} order by {first}, {ORDERS[table]} rows 3 preceding) as h")
    sql = f"select {first}, {number}, s, {', '.join(listed)} from db.{table}"
    if rng.random() < 0.3:
        sql += f" where {number} > 0"
    if rng.random() < 0.3:
        sql += f" qualify {extreme()} > 1"
    chance = rng.random()
    if chance < 0.25:
        return f"select e, count(*) as n, max(f) as m from ({sql}) as t group by e"
    if chance < 0.5:
        return f"with t as ({sql}) select t.e, t.f, u.e as o from t join t as u on t.s = u.s and t.e = u.{number}"
    return sql


@pytest.mark.parametrize("seed", range(MANY))
def test_divided_frames_give_the_same_rows(seed: int) -> None:
    rng = random.Random(seed)
    sql = _query(rng)
    tables = Tables(seed, rows=rng.choice((0, 1, 9, 30)))
    query = tables.kept(sql)
    faster = query.all_rows_sql(lambda table: f"{table.name}_new", None)
    assert faster is not None, sql
    assert " DIV " in faster
    assert tables.fetch(faster) == tables.fetch(tables.on(query.reading.text, "new")), sql
    tables.change()
    assert tables.update_method(query) == tables.fetch(tables.on(query.reading.text, "new")), sql


UNCHANGED = {
    "another function": "select k, sum(x) over (partition by k order by x, s rows 9 preceding) as m from db.a",
    "following rows": "select k, max(x) over (order by x, s rows between 9 preceding and 1 following) as m from db.a",
    "all preceding rows": "select k, max(x) over (order by x rows unbounded preceding) as m from db.a",
    "a range": "select k, max(x) over (order by x range between 9 preceding and current row) as m from db.a",
    "one row": "select k, max(x) over (order by x, s rows 0 preceding) as m from db.a",
    "values that may differ": "select k, max(d) over (partition by k order by x, s rows 9 preceding) as m from db.a",
    "some of the rows": "select k, max(x) filter (where s > 'a') over (order by x rows 9 preceding) as m from db.a",
    "a window in a subquery":
        "select k from db.a where x in (select max(y) over (order by y, s, num rows 9 preceding) from db.b)",
    "read by a subquery":
        "select k from db.a qualify max(x) over (order by x, s rows 9 preceding) in (select y from db.b)",
}  # fmt: skip


@pytest.mark.parametrize("case", UNCHANGED)
def test_other_windows_stay_as_they_are(case: str) -> None:
    query = Tables(0).kept(UNCHANGED[case])
    assert query.all_rows_sql(lambda table: f"{table.name}_new", None) is None


def test_short_frames_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    sql = "select k, max(x) over (partition by k order by x, s rows {} preceding) as m from db.a"
    monkeypatch.setattr(frames, "LEAST_ROWS", 64)
    assert Tables(0).kept(sql.format(62)).all_rows_sql(str, None) is None
    assert Tables(0).kept(sql.format(63)).all_rows_sql(str, None) is not None


@pytest.mark.parametrize("end", ["start", "end"])
def test_the_random_queries_find_a_wrong_frame(monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    preceding = frames.rows_before
    monkeypatch.setattr(frames, "rows_before", lambda frame, at: (preceding(frame, at) or 0) + (at == end))
    seeds = iter(range(100))
    with pytest.raises(AssertionError):
        list(map(test_divided_frames_give_the_same_rows, seeds))
    assert next(seeds, None) is not None
