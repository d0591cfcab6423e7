"""A table's history: names, snapshots, ancestors."""

from __future__ import annotations

import pytest

from iceberg_incremental.table.history import History, Snapshot, TableName
from tests.unit.incremental import histories as h


@pytest.mark.parametrize(
    ("parts", "shown"),
    [
        (("lake", "ops", "flights"), "lake.ops.flights"),
        (("lake", "ops.raw", "flights"), "lake.ops.raw.flights"),
        (("lake", "o`ps", "a b.c"), "lake.`o``ps`.`a b.c`"),
        (("l.a", "``", "✈ x"), "`l.a`.``````.✈ x"),
        (("a", "b", "."), "a.b.`.`"),
        (("a", "b.c`.d", "."), "a.b.`c```.d.`.`"),
    ],
)
def test_a_displayed_name_can_be_parsed(parts, shown):
    name = TableName(*parts)
    assert str(name) == shown
    assert TableName.parse(shown) == name


@pytest.mark.parametrize("text", ["", "a", "a.b", "a..c", "a.b..c", "a.`b.c", "`a`.b.c", "a.`b.c`.d"])
def test_other_names_are_not_parsed(text):
    assert TableName.parse(text) is None


def test_every_part_and_level_of_a_name_is_quoted_in_sql():
    name = TableName("lake", "ops.r`aw", "fl`ights")
    assert name.sql == "`lake`.`ops`.`r``aw`.`fl``ights`"
    assert name.sql_in_catalog == "`ops`.`r``aw`.`fl``ights`"
    assert name.namespace_sql == "`lake`.`ops`.`r``aw`"


def test_a_quoted_namespace_of_an_earlier_version_has_levels():
    assert TableName.written("lake.`ops.raw`.flights") == TableName("lake", "ops.raw", "flights")
    assert TableName.canonical("lake.`ops.raw`.flights") == "lake.ops.raw.flights"
    assert TableName.canonical("any text") == "any text"


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("42", 42), ("9223372036854775807", 2**63 - 1), ("", None), ("-1", None), ("1.5", None), ("many", None)],
)
def test_a_number_in_a_summary(text, number):
    assert h.snapshot(1, None, "append", {"total-records": text}).number("total-records") == number


@pytest.mark.parametrize(
    ("number", "older", "more", "lacks"),
    [
        (3, (), (), True),  # as Nessie returns a table with three commits over REST
        (1, (), (), False),
        (None, (), (), False),
        (3, ("s3://v2.json",), (), False),  # after an expiry
        (3, (), (2,), False),
    ],
)
def test_a_catalog_that_returns_only_the_current_snapshot(number, older, more, lacks):
    snapshots = {each: Snapshot(each, None, number, 0, "append") for each in (*more, 9)}
    history = History(TableName("a", "b", "c"), None, 2, 9, snapshots, {"main": 9}, {}, older)
    assert history.lacks_past is lacks


def test_a_summary_without_a_number():
    assert h.snapshot(1, None, "append", {}).number("total-records") is None


def test_ancestors_end_at_the_first_expired_snapshot():
    known = h.history(*h.chain(3, first=2))
    assert [snapshot.snapshot_id for snapshot in known.ancestors(4)] == [4, 3, 2]
    assert known.is_ancestor(2, of=4) and not known.is_ancestor(4, of=2) and not known.is_ancestor(1, of=4)


def test_circular_ancestors_end():
    known = h.history(h.snapshot(1, 2), h.snapshot(2, 1))
    assert [snapshot.snapshot_id for snapshot in known.ancestors(2)] == [2, 1]


def test_an_older_history_adds_expired_snapshots_and_parents():
    older, now = h.history(*h.chain(3)), h.history(h.snapshot(3, None), h.snapshot(4, 3))
    assert [each.snapshot_id for each in now.with_older(older).ancestors(4)] == [4, 3, 2, 1]
    assert now.with_older(h.history(*h.chain(3), uuid="other")) == now
