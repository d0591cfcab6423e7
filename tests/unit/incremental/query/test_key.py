"""The key by which rows of a result are replaced, and the scans that this requires."""

from __future__ import annotations

from collections import Counter

import pytest

from iceberg_incremental.query.plan import incremental_query
from iceberg_incremental.query.states import Keys, TableStates
from iceberg_incremental.table.history import TableName

from .kept_tables import Tables
from .test_choices import leave_incomplete

KEYS = {
    "select k, x from db.a": ("k", "x"),
    "select k, s, count(*) as n from db.a group by k, s": ("k", "s"),
    "select s, count(*) as n from db.a group by k, s": ("s",),
    "select count(*) as n from db.a": (),
    "select d, count(*) as n from db.a group by d": ("n",),
    "select k, sum(d) as d from db.a group by k": ("k",),
    "select k, x, row_number() over (partition by k order by x) as n from db.a": ("k", "x"),
    "select k, x, lead(x) over (partition by k order by x) as n from db.a": ("k",),
    "select k, x, sum(x) over (partition by k order by x rows between 1 preceding and 1 following) as n from db.a":
        ("k",),
    "select k, x, max(x) over (partition by k) as n from db.a": ("k",),
    "select k, x, lag(x) over (partition by k order by x) as n, rank() over (partition by k order by x desc) as m "
        "from db.a": ("k",),
    "select x, sum(x) over (partition by k order by x) as n from db.a": ("x", "n"),
    "select k, d, sum(x) over (partition by k order by d) as n from db.a": ("k",),
    "select k, x, sum(x) over (order by x) as n from db.a": ("x",),
    "select k, x, row_number() over (partition by k order by x) as n from db.a qualify n > 1": ("k",),
    "select k, x, n from (select k, x, sum(x) over (partition by k order by x) as n from db.a) where n > 1": ("k",),
    "select k, x, n from (select k, x, sum(x) over (partition by k order by x) as n from db.a) where x > 1": ("k", "x"),
    "with r as (select *, row_number() over (partition by k order by x) as n from db.a) select * from r where n "
        "= 1": ("k",),
    "select k, x from db.a qualify row_number() over (partition by k order by s) = 1": ("k",),
    "select k, x from db.a qualify row_number() over (partition by k order by x) = 1": ("k",),
    "with r as (select *, row_number() over (partition by k order by y) as n from db.b) "
    "select r.k, r.y, c.z from r left join db.c c on r.y = c.y where n = 1": ("k",),
    "select distinct k, first_value(x) over (partition by k order by s) as x from db.a": ("k",),
}  # fmt: skip
VERSIONS = "with v as (select *, lead(x) over (partition by k order by x) as n from db.a) "
GROUPS = "with g as (select k, s, count(*) as n, max(y) as m from db.b group by k, s) "
LATEST = "with v as (select *, row_number() over (partition by k order by x) as n from db.a) "
DECIDED = "with v as (select k, x, s, row_number() over (partition by k order by x, s) as n from db.a) "
KEYS_OF_CTES = {
    "versions and a dimension": (
        VERSIONS + "select v.k, v.x, v.n, c.z, c.s from v left join db.c on c.y = v.x", ("k",)
    ),
    "versions of some rows": (
        VERSIONS + ", w as (select * from v where n > 1) select w.s, w.k, c.z from w left join db.c on c.y = w.x",
        ("k",),
    ),
    "versions without their partition": (
        DECIDED + "select v.x, c.z from v join db.c on c.y = v.x", ("x", "z")
    ),
    "an exact window": (
        "with v as (select *, max(x) over (partition by k, s) as m from db.a) "
        "select v.s, v.x, v.m, v.k, c.z from v left join db.c on c.y = v.x",
        ("s", "k"),
    ),
    "the latest row of groups": (
        GROUPS + ", r as (select *, row_number() over (partition by k order by n desc, s) as o from g) "
        "select r.k, r.s, r.n, c.z from r join db.c on c.y = r.m where r.o = 1",
        ("k", "z"),
    ),
    "groups of latest rows of groups": (
        GROUPS + ", r as (select *, row_number() over (partition by k order by n desc, s) as o from g) "
        "select s, count(*) as n from r where o = 1 group by s",
        ("s",),
    ),
    "two windows with different partitions": (
        GROUPS + ", r as (select k, s, n, row_number() over (partition by k order by s) as o from g), "
        "q as (select k, s, n, row_number() over (partition by s order by k) as o from g) "
        "select r.k, r.s, r.o, q.k as j, q.n as i from r left join q on q.k = r.n",
        ("k", "s"),
    ),
    "groups": (GROUPS + "select g.k, g.s, g.n, g.m from g", ("k", "s")),
    "groups and a dimension": (
        GROUPS + "select g.n, g.k, c.z, g.s from g left join db.c on c.y = g.k", ("k", "s")
    ),
    "groups that are joined by their keys": (
        GROUPS + "select a.x, g.n, a.s, a.k from db.a left join g on g.k = a.k and g.s = a.s", ("x", "s", "k")
    ),
    "groups that are joined by one of their keys": (
        GROUPS + "select a.x, g.n, a.k from db.a left join g on g.k = a.k", ("x", "n", "k")
    ),
    "groups that are joined by text": (
        GROUPS.replace("by k, s", "by num").replace("k, s", "num") +
        "select a.k, g.n from db.a join g on g.num = a.k", ("k", "n")
    ),
    "groups of groups": (
        GROUPS + "select t.k, t.s, t.n, t.o from (select k, s, n, max(m) as o from g group by k, s, n) t", ("k", "s")
    ),
    "distinct rows": ("with d as (select distinct k, s from db.a) select d.s, d.k, b.y from d left join db.b on "
        "b.k = d.k", ("s", "k")),
    "one row of each partition": (
        LATEST + "select b.y, v.x, b.k from db.b left join v on v.k = b.k and v.n = 1", ("k",)
    ),
    "one decided row of each partition": (
        DECIDED + "select b.y, v.x, b.k from db.b left join v on v.k = b.k and v.n = 1", ("y", "k")
    ),
    "equal columns": ("select a.k, b.k as j, a.x from db.a join db.b on b.k = a.k", ("k", "x")),
    "columns of an optional side": ("select a.k, b.k as j, b.y from db.a left join db.b on b.k = a.k", ("k", "y")),
    "doubles": ("with g as (select d, max(x) as m from db.a group by d) select a.k, a.d, g.m from db.a join g "
        "on g.d = a.d", ("k", "m")),
}  # fmt: skip


@pytest.mark.parametrize("name", KEYS_OF_CTES)
def test_the_columns_of_groups_and_partitions_in_ctes_are_the_key(name: str) -> None:
    sql, key = KEYS_OF_CTES[name]
    assert Tables(1).kept(sql).key == key


NUMBERED = "select t.k, t.{}, row_number() over (partition by t.k order by {}) as o from {} t"


@pytest.mark.parametrize(
    ("sql", "chooses"),
    [
        (GROUPS + NUMBERED.format("n", "t.m, t.s", "g"), False),
        (GROUPS + NUMBERED.format("n", "t.m", "g"), True),
        (DECIDED + NUMBERED.format("x", "t.n", "v"), False),
        (DECIDED.replace("row_number()", "rank()") + NUMBERED.format("x", "t.n", "v"), True),
        (DECIDED + NUMBERED.format("x", "t.s", "(select * from v where n = 1)"), False),
        (DECIDED + NUMBERED.format("x", "t.s", "(select * from v where n < 3)"), True),
        (NUMBERED.format("x", "t.d", "(select k, d, max(x) as x from db.a group by k, d)"), True),
        (GROUPS + NUMBERED.format("n", "t.x", "(select a.k, a.x, a.s, g.n from db.a left join g on g.k = a.k)"), True),
        (
            GROUPS + NUMBERED.format("n", "t.s", "(select a.k, a.s, g.n from db.a left join g using (k, s))"),
            False,
        ),
        (GROUPS + NUMBERED.format("n", "t.j", "(select a.k, g.k as j, g.n from db.a left join g on g.k > a.k)"), True),
    ],
)
def test_columns_that_determine_the_others_decide_an_order(
    sql: str, *, chooses: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_incomplete(monkeypatch)
    assert Tables(1).kept(sql).chooses is chooses


def test_some_columns_of_the_key_can_be_one() -> None:
    query = Tables(1).kept("select a.k, a.x, b.y from db.a join db.b on b.s = a.s")
    narrower = query.by(("k", "y"))
    assert narrower is not None and narrower.key == ("k", "y") and query.by(query.key) is query
    assert query.by(("k", "z")) is None and query.by(()) is None


@pytest.mark.parametrize("sql", KEYS)
def test_key(sql: str) -> None:
    assert Tables(1).kept(sql).key == KEYS[sql]


def test_unique_key() -> None:
    assert Tables(1).kept("select k, x, s from db.a", ["S"]).key == ("s",)


def test_columns_that_the_table_lacks_are_not_part_of_the_key() -> None:
    query = Tables(1).kept("select k, x, s from db.a")
    kept = query.keyed_by(["K", "S"])
    assert kept.key == kept.alone == ("k", "s") and query.keyed_by(["n"]).key == ()


def test_a_unique_key_that_a_choice_does_not_contain_is_not_used() -> None:
    ranked = "select *, row_number() over (partition by k order by x) as n from db.a"
    sql = f"with r as ({ranked}) select k, s from r where n = 1"
    assert Tables(1).kept(sql, ["s"]).key == ("k",)


@pytest.mark.parametrize(
    "sql",
    [
        "select `a``b`, sum(x) as x from db.t group by `a``b`",
        "select `a``b`, x from db.t union all select `a``b`, x + 1 from db.t",
        "select `a``b`, x from (select `a``b`, sum(x) as x from db.t group by `a``b`) s where x > 1",
        "with r as (select *, row_number() over (partition by `a``b` order by 1) as n from db.t)"
        " select `a``b`, r.x from r join db.t u using (`a``b`) where n = 1",
    ],
)
def test_names_of_columns_are_quoted(sql: str) -> None:
    table = TableName("lake", "db", "t")
    kept = incremental_query(sql, {table: {"a`b": "int", "x": "int"}}, "lake", {"a`b": "int", "x": "int"})
    changes = kept.changes({table: TableStates("new", "old", "changes")}, "ip")
    texts = [*(view.sql for view in kept.affected(changes, "keys")), kept.rows_sql(changes, Keys("keys", ()))]
    assert "a`b" in kept.key
    assert all("`a``b`" in text and "`a`b`" not in text for text in texts)


JOINED = "select a.x, b.y from db.a join db.b on a.k = b.k"
RANKED = (
    "with r as (select *, row_number() over (partition by k order by x) as n from db.a) select * from r where n = 1"
)


@pytest.mark.parametrize(
    ("sql", "changed", "scans"),
    [
        ("select k, x from db.a", "a", {"a": 0}),
        (JOINED, "a", {"a": 0, "b": 1}),
        (JOINED, "ab", {"a": 1, "b": 1}),
        (JOINED.replace("join", "left join"), "b", {"a": 2, "b": 2}),
        ("select k, x from db.a where k in (select y from db.b)", "ab", {"a": 1, "b": 2}),
        ("select k, x from db.a left semi join db.b on a.k = b.k", "ab", {"a": 1, "b": 2}),
        (RANKED, "a", {"a": 0}),
        ("select x from (select x, max(x) over (partition by k) as m from db.a) r where m = 1", "a", {"a": 2}),
    ],
)
def test_scans(sql: str, changed: str, scans: dict[str, int]) -> None:
    found = Tables(1).kept(sql).scans({TableName("lake", "db", name): False for name in changed})
    assert found == {TableName("lake", "db", name): count for name, count in scans.items()}


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("select k, count(distinct x) as n from db.a group by k", "a"),
        ("select k, count(distinct x) as n, sum(distinct x + 1) as m, max(x) as o from db.a group by k", "aa"),
        (RANKED, "a"),
        ("select y, count(*) as n from (select b.y, a.k from db.a join db.b on a.k = b.k) j group by y", ""),
        (
            "with j as (select a.x, b.y from db.a join db.b on a.k = b.k) "
            "select y, sum(distinct x) as n from j group by y",
            "ab",
        ),
    ],
)
def test_how_often_rows_are_sorted(sql: str, tables: str) -> None:
    assert Tables(1).kept(sql).sorts == Counter(TableName("lake", "db", name) for name in tables)
