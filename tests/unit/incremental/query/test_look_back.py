"""Windows that only look back: of a partition, only the rows from the first changed one on are affected.

``QUERY_LOOK_BACK``: the number of random queries.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from iceberg_incremental.query.algebra import look_back
from iceberg_incremental.query.rules.run import Run
from iceberg_incremental.query.states import Keys, State

from .kept_tables import Tables

MANY = int(os.environ.get("QUERY_LOOK_BACK", "80"))
_BOUNDED = (
    "max({value}) over ({order} rows between 1 preceding and current row)", "lag({value}) over ({order})",
    "lag({value}, 2, -1) over ({order})", "count({value}) over ({order} rows 1 preceding)",
    "sum({value}) over ({order} rows between 3 preceding and 2 preceding)",
)  # fmt: skip
_FUNCTIONS = (
    *_BOUNDED, "sum({value}) over ({order})", "count(*) over ({order})", "rank() over ({order})",
    "dense_rank() over ({order})", "row_number() over ({order})",
    "sum({value}) over ({order} rows between unbounded preceding and 1 preceding)",
    "min({value}) over ({order} range between unbounded preceding and current row)",
)  # fmt: skip
_AHEAD = ("lead({value}) over ({order})", "max({value}) over ({part})",
          "sum({value}) over ({order} rows between 1 preceding and 1 following)",
          "count(*) over ({order} range between current row and unbounded following)")  # fmt: skip


def _query(rng: random.Random) -> str:
    """A query with windows that mostly look back, under joins, groups, filters and other windows."""
    table, part, by = rng.choice(
        (("a", "k", "x"), ("b", "k", "y"), ("c", "y", "z"), ("a", "s", "x"), ("b", "k, s", "y"), ("a", "", "x"))
    )
    value = {"a": "x", "b": "y", "c": "z"}[table]
    direction = rng.choice(("", "", "desc", "nulls last", "desc nulls first"))
    partition = f"partition by {part}" if part else ""
    order = f"{partition} order by {by} {direction}"
    listed = rng.sample(rng.choice((_BOUNDED, _FUNCTIONS)), rng.choice((1, 2)))
    listed += [rng.choice(_AHEAD)] if rng.random() < 0.3 else []
    texts = [each.format(value=value, order=order, part=partition) for each in listed]
    columns = ", ".join(f"{each} as w{at}" for at, each in enumerate(texts))
    names = ", ".join(dict.fromkeys((*filter(None, part.split(", ")), value, "s")))
    of_join = ", ".join(f"t.{name}" for name in names.split(", "))
    source = rng.choice((
        f"db.{table}", f"db.{table}", f"(select {names} from db.{table} where s is not null)",
        f"(select {of_join} from db.{table} t join db.c u on u.y = t.{by})",
        f"(select {names}, count(*) as n from db.{table} group by {names})",
    ))  # fmt: skip
    sql = f"select {names}, {columns} from {source} as r"
    first = part.split(", ")[0] or "s"
    above = rng.choice((
        "{}", "{}", "{}", "{}", "select {first}, {by}, w0 from ({}) as t where w0 > 1",
        "select w0, count(*) as m, max({by}) as v from ({}) as t group by w0",
        "with t as ({}) select t.{first}, t.{by}, t.w0, c.z from t left join db.c on c.y = t.{by}",
        "with t as ({}) select t.{by}, u.w0 from t join t as u on u.{by} = t.w0",
        "select {first}, {by}, sum(w0) over (partition by {first} order by {by}) as v from ({}) as t",
        "select {first}, {by}, w0 from ({}) as t where w0 in (select y from db.b)",
        "with t as ({}) select c.y, c.s, t.{by}, t.w0 from db.c join t on t.{by} = c.y and t.{first} <=> c.{like}",
        "select {first}, {by}, w0 from ({}) as t where exists (select 1 from db.c where c.y = t.{by} and c.z > 1)",
        "select {first}, {by}, w0 from ({}) as t union all select {like}, y, 1 from db.c",
        "select distinct {first}, {by}, w0 from ({}) as t",
    ))  # fmt: skip
    return above.format(sql, first=first, by=by, like="s" if first == "s" else "z")


@pytest.mark.parametrize("seed", range(MANY))
def test_random_windows_that_look_back(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """They return the same rows as all rows computed again, with NULLs and equal values in the order."""
    if seed % 2:
        monkeypatch.setattr(look_back, "_LEAST_READ", 0)
    _require_exact(seed)


def _require_exact(seed: int) -> None:
    rng = random.Random(seed)
    sql = _query(rng)
    tables = Tables(seed, rows=rng.choice((9, 24)))
    query = tables.kept(sql)
    for number in range(4):
        tables.change()
        expected = tables.fetch(tables.all_rows(query))
        assert tables.update_method(query) == expected, f"round {number}, by {query.key}: {sql}"


NULLS = "sum(x) over (partition by k order by x {}) as n"


@pytest.mark.parametrize(
    ("function", "added", "affected"),
    [
        ("sum(x) over (partition by k order by x) as n", 3, {3}),
        ("sum(x) over (partition by k order by x) as n", 1, {1, 2}),
        ("lag(x) over (partition by k order by x desc) as n", 1, {0, 1, None}),
        (NULLS.format("nulls first"), None, {None, 0, 1, 2}),
        (NULLS.format("nulls first"), 2, {2}),
        (NULLS.format("nulls last"), None, {None}),
        (NULLS.format("nulls last"), 2, {2, None}),
        (NULLS.format("desc nulls first"), 0, {0}),
        (NULLS.format("desc nulls last"), 2, {2, 1, 0, None}),
    ],
)
def test_rows_before_the_first_changed_one_are_not_affected(
    function: str, added: int | None, affected: set[int]
) -> None:
    tables = Tables(1)
    tables.supersets = False
    tables.rows["a"] = tables.old["a"] = [(k, x, "p", 0.0) for k in (0, 1) for x in (0, 1, 2, None)]
    query = tables.kept(f"select k, x, {function} from db.a")
    tables.old = {name: list(rows) for name, rows in tables.rows.items()}
    tables.rows["a"] = [*tables.rows["a"], (1, added, "q", 1.5)]
    tables._publish()
    assert tables.update_method(query) == tables.fetch(tables.all_rows(query))
    assert set(tables.db.execute("select k, x from ip_keys_of_run").fetchall()) == {(1, x) for x in affected}


@pytest.mark.parametrize("direction", ["", "desc", "nulls last", "desc nulls first"])
def test_changes_that_a_filter_leaves_out_affect_no_row_of_windows_without_partitions(direction: str) -> None:
    tables = Tables(1, rows=24)
    tables.supersets = False
    query = tables.kept(f"select x, s, sum(x) over (order by x {direction}) as n from db.a where s = 'p'")
    tables.old = {name: list(rows) for name, rows in tables.rows.items()}
    tables.rows["a"] = [*tables.rows["a"], (3, 3, "q", 0.0)]
    tables._publish()
    assert tables.update_method(query) == tables.fetch(tables.all_rows(query))
    assert tables.db.execute("select * from ip_keys_of_run").fetchall() == []


REACH = look_back._reach
IS_AFFECTED = look_back.LookBack.is_affected
PLANTED: dict[str, tuple[object, str, Callable[..., Any]]] = {
    "windows that look ahead": (look_back, "_looks_back", lambda window: True),
    "NULLs are the last values": (
        look_back.LookBack, "is_affected", lambda self, first: IS_AFFECTED(replace(self, nulls_first=False), first)
    ),
    "orders ascend": (
        look_back.LookBack, "is_affected", lambda self, first: IS_AFFECTED(replace(self, is_descending=False), first)
    ),
    "frames are shorter": (look_back, "_reach", lambda window: 0 if REACH(window) == 1 else REACH(window)),
    "removed rows do not count": (
        Run, "whole", lambda self, node, state, wanted=None: [(State.NEW, node if wanted is None else wanted)]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_the_random_windows_find_a_planted_bug(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(*PLANTED[name])
    monkeypatch.setattr(look_back, "_LEAST_READ", 0)
    for seed in range(MANY):
        try:
            _require_exact(seed)
        except AssertionError:
            return
    pytest.fail("no result is wrong")


def test_some_random_windows_read_few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the random queries would not show that the rows that they read are enough."""
    monkeypatch.setattr(look_back, "_LEAST_READ", 0)
    read = []
    for seed in range(40):
        tables = Tables(seed)
        query = tables.kept(_query(random.Random(seed)))
        tables.change()
        if query.finds_keys(tables.changed, tables.clock):
            changes = query.changes(tables.states, "ip", clock=tables.clock)
            read.append("_needed`" in query.rows_sql(changes, Keys("ip_keys", query.key)))
    assert sum(read) >= 5, read
