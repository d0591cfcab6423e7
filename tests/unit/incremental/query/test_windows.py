"""Windows whose orders are completed by all columns that their SELECT reads: the result is then always the same.

``QUERY_WINDOWS``: the number of random queries.
"""

from __future__ import annotations

import os
import random

import pytest

from iceberg_incremental.query import complete
from iceberg_incremental.query.rules import steady

from .test_choices import Choosing

MANY = int(os.environ.get("QUERY_WINDOWS", "60"))
NUMBERS = (
    "row_number() over ({})", "ntile(3) over ({})", "lag({value}) over ({})", "lead({value}, 2, -1) over ({})",
    "max({value}) over ({} rows between 1 preceding and current row)",
    "count({value}) over ({} rows between 2 preceding and 1 following)",
)  # fmt: skip
OTHERS = (
    "rank() over ({})",
    "sum({value}) over ({})",
    "dense_rank() over (partition by {first} order by {value} desc)",
)


def _query(rng: random.Random) -> str:
    """A query with functions over rows that are equal in ORDER BY, under filters, joins, groups and DISTINCT."""
    table, first, value = rng.choice((("a", "k", "x"), ("b", "k", "y"), ("c", "y", "z")))
    order = f"partition by {first} order by {rng.choice((value, 's', f'{value} % 2 desc', 's desc nulls last'))}"
    of_rows = [each.format(order, value=value) for each in rng.sample(NUMBERS, rng.choice((1, 1, 2)))]
    others = [each.format(order, value=value, first=first) for each in rng.sample(OTHERS, rng.choice((0, 0, 1)))]
    listed = ", ".join(f"{each} as w{at}" for at, each in enumerate([*of_rows, *others]))
    source = f"db.{table}"
    if rng.random() < 0.3:
        source = f"(select {first}, {value}, s, count(*) as n from db.{table} group by {first}, {value}, s)"
    elif rng.random() < 0.3:
        source = f"(select t.{first}, t.{value}, u.s from db.{table} as t join db.c as u on u.y = t.{value})"
    sql = f"select {first}, {value}, s, {listed} from {source} as r"
    if rng.random() < 0.2:
        sql += f" qualify {of_rows[0]} > 1"
    if rng.random() < 0.25:  # the order of a LIMIT may read a column that is not returned
        by = rng.choice((value, value, "w0", f"{value} % 2, w0"))
        number = f"row_number() over (partition by {first} order by {rng.choice(('s', 's desc', 'length(s)'))})"
        sql = f"select {first}, s, {number} as w0 from {source} as r order by {by} limit {rng.choice((3, 5, 12))}"
        above = rng.choice(("{}", "select b.y, t.w0, t.s from db.b join ({}) as t on t.{first} = b.k"))
        return above.format(sql, first=first)
    above = rng.choice((
        "{}", "{}", "select {first}, w0 from ({}) as t where w0 > 1", "select distinct s, w0 from ({}) as t",
        "select w0, count(*) as m, max({value}) as v from ({}) as t group by w0",
        "with t as ({}) select t.s, t.w0, c.z from t left join db.c on c.y = t.w0",
        "with t as ({}) select t.{value}, u.w0 from t join t as u on u.{first} = t.w0",
        "select {value} from ({}) as t where w0 in (select y from db.b)",
    ))  # fmt: skip
    return above.format(sql, first=first, value=value)


@pytest.mark.parametrize("seed", range(MANY))
def test_the_result_is_always_the_same(seed: int) -> None:
    """``Choosing`` puts rows that are equal in ORDER BY in another order in each statement."""
    rng = random.Random(seed)
    sql = _query(rng)
    tables = Choosing(seed, rows=rng.choice((9, 24)))
    query = tables.kept(sql)
    assert not query.chooses or query.whole, sql
    for number in range(3):
        tables.change()
        expected = tables.fetch(tables.all_rows(query))
        assert tables.fetch(tables.all_rows(query)) == expected, sql
        assert tables.update_method(query) == expected, f"round {number}, by {query.key}: {sql}"


@pytest.mark.parametrize(
    ("sql", "order"),
    [
        ("select k, x, row_number() over (partition by k order by s) as n from db.a", "`x`"),
        ("select k, x, rank() over (partition by k order by s) as n from db.a", None),
        ("select k, x, sum(x) over (partition by k order by s) as n from db.a", None),
        ("select k, d, row_number() over (partition by k order by s) as n from db.a", None),
        ("select k, row_number() over (partition by k order by x) as n from db.a", None),
        ("select k, explode(array(x, 1)) as e, row_number() over (partition by k order by s) as n from db.a", None),
        (
            "select k, x, row_number() over (partition by k order by s) as n, "
            "row_number() over (partition by k order by s desc) as m from db.a",
            None,
        ),
        ("select k, count(*) as c, row_number() over (partition by s order by count(*)) as n from db.b group by k, s",
         "`k`"),
    ],
)  # fmt: skip
def test_only_orders_that_decide_about_rows_are_completed(sql: str, order: str | None) -> None:
    complete = Choosing(1).kept(sql).reading.complete
    assert bool(complete) is (order is not None)
    assert order is None or f"{order}) as" in complete.replace("`ip_t0`.", "").replace("`a`.", "").replace("`b`.", "")


def test_a_hidden_column_of_an_order_that_cannot_be_compared_exactly_is_a_choice() -> None:
    sql = "select k, s, row_number() over (partition by k order by s) as n from db.a order by {} limit 3"
    assert not Choosing(1).kept(sql.format("x")).chooses
    assert Choosing(1).kept(sql.format("d")).chooses


def test_a_window_in_the_order_of_a_limit_replaces_all_rows() -> None:
    first = "(select s, k from db.a order by row_number() over (partition by k order by x) limit 9)"
    kept = Choosing(1).kept(f"select b.y, t.s from db.b join {first} t on t.k = b.k")
    assert "a window in ORDER BY before LIMIT" in str(kept.whole)


def test_inexact_columns_that_others_determine_do_not_matter() -> None:
    groups = "(select k, max(d) as d, x, count(*) as c from db.a group by k, x)"
    query = Choosing(1).kept(f"select k, d, x, row_number() over (partition by k order by c) as n from {groups} t")
    assert query.reading.complete and not query.chooses


def test_the_random_queries_find_an_order_that_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (complete, steady):
        monkeypatch.setattr(module, "sort_keys", lambda tree: {})
    seeds = iter(range(100))
    with pytest.raises(AssertionError):
        list(map(test_the_result_is_always_the_same, seeds))
    assert next(seeds, None) is not None
