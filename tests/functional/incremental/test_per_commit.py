"""Changes commit by commit: the net changes of each commit of a range, and the commit that made them.

The oracle compares the rows of each snapshot with those of its parent, in Python.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from iceberg_incremental.capture.cuts import Cut, Cuts
from iceberg_incremental.capture.source_policy import commits_outcome
from iceberg_incremental.expose.relations import per_commit_sql
from iceberg_incremental.plan.ranges import Nothing, PerCommit, position_at
from iceberg_incremental.table.checkpoint import Position
from iceberg_incremental.table.history import Snapshot

from .test_net_changes import LAYOUTS, MERGE_ON_READ, STEPS, Source, plain, row

COMMITS = "select * from {{ ip_changelog(source('raw', 'events'), unique_key='id', per='commit') }}"


class CommitsOf(Source):
    """A source table whose changes are read commit by commit."""

    def plan_commits(self, start: int | None, end: int) -> PerCommit | Nothing:
        history = self.reader.load(self.name)
        assert history is not None
        known = None if start is None else history.snapshots[start]
        found = commits_outcome(
            Cuts(lambda: self.reader), Cut(history, history.snapshots[end]), position_at(history.table_uuid, known)
        )
        assert isinstance(found, (PerCommit, Nothing))
        return found

    def expected(self, start: int | None, end: int) -> list[tuple[Snapshot, Counter[Any]]]:
        """The changes of each commit, without commits that changed nothing."""
        history = self.reader.load(self.name)
        assert history is not None
        commits = history.commits_since(start, history.snapshots[end])
        assert commits is not None
        found: list[tuple[Snapshot, Counter[Any]]] = []
        for commit in commits:
            before = Counter() if commit.parent_id is None else self.state(commit.parent_id, like=end)
            after = self.state(commit.snapshot_id, like=end)
            came, went = after - before, before - after
            keys = {each[0] for each in came} & {each[0] for each in went}
            changes: Counter[Any] = Counter()
            for rows, kind, updated in ((came, "INSERT", "UPDATE_AFTER"), (went, "DELETE", "UPDATE_BEFORE")):
                for each, n in rows.items():
                    changes[(*each, updated if each[0] in keys else kind)] = n
            if changes:
                found.append((commit, changes))
        return found

    def check_commits(self, start: int | None, end: int) -> PerCommit | Nothing:
        planned, expected = self.plan_commits(start, end), self.expected(start, end)
        for exact in (None, self.scans):
            sql = per_commit_sql(planned, ["ID"], exact)
            rows = self.shop.sql(f"select *, unix_millis(_commit_timestamp) from {sql}")
            orders = sorted({each[-2] for each in rows})
            found = [
                (
                    {each[-4] for each in rows if each[-2] == order},
                    {each[-1] for each in rows if each[-2] == order},
                    Counter(self.cells(each) for each in rows if each[-2] == order),
                )
                for order in orders
            ]
            assert found == [({each.snapshot_id}, {each.timestamp_ms}, changes) for each, changes in expected]
        return planned

    @staticmethod
    def cells(values: tuple[Any, ...]) -> tuple[Any, ...]:
        """A row and its change, without the commit."""
        return tuple(plain(value) for value in values[:-4])


def modes(version: int, mode: str) -> str:
    return f"tblproperties ('format-version'='{version}', {MERGE_ON_READ.replace('merge-on-read', mode)})"


@pytest.mark.core
@LAYOUTS
def test_every_kind_of_commit(shop, warehouse, version, mode, partitioned):
    source = CommitsOf(
        shop, warehouse, "events", f"{'partitioned by (d)' if partitioned else ''} {modes(version, mode)}"
    )
    with shop.dynamic_overwrites():
        for statements in STEPS:
            source.step(statements)
    source.check_commits(None, source.ends[-1])
    source.check_commits(source.ends[0], source.ends[2])
    source.check_commits(source.ends[1], source.ends[2])


def test_one_changelog_scan_shows_commits_that_delete_nothing_in_place(shop, warehouse):
    source = CommitsOf(shop, warehouse, "events", modes(2, "copy-on-write"))
    source.step([f"insert into {{t}} values {row(1, 1, repr('a'))}, {row(2, 1, repr('a'))}"])
    source.step(
        [
            f"insert into {{t}} values {row(3, 1, repr('a'))}",
            "update {t} set v = 'b' where id = 1",
            "call {c}.system.rewrite_data_files(table => '{t}', options => map('rewrite-all', 'true'))",
            "update {t} set v = 'a' where id = 1",
            "update {t} set v = v where id = 2",
            "delete from {t} where id = 3",
            f"insert into {{t}} values {row(3, 1, repr('a'))}",
        ]
    )
    planned = source.check_commits(*source.ends)
    assert isinstance(planned, PerCommit)
    assert planned.has_log


@pytest.mark.core
def test_a_commit_of_another_model_is_one_whatever_it_published_together(shop):
    """A merge of this package publishes an INSERT and a DELETE. Between them, keys occur twice."""
    log = shop.source("log")
    shop.model(
        "events", "select * from {{ ip_changes(source('raw', 'log')) }}", incremental_strategy="merge", unique_key="id"
    )
    shop.model("audit", "select * from {{ ip_changelog(ref('events'), unique_key='id', per='commit') }}")
    shop.insert(log, "(1, 'a')", "(2, 'a')")
    shop.run()
    for value in "bc":
        shop.insert(log, f"(1, '{value}')")
        shop.run("--select", "events")
    shop.run()
    found = shop.sql(f"select id, v, _change_type, _commit_order from {shop.built('audit')} where v <> 'a' or id = 1")
    assert sorted(found) == [
        (1, "a", "INSERT", 0),
        (1, "a", "UPDATE_BEFORE", 0),
        (1, "b", "UPDATE_AFTER", 0),
        (1, "b", "UPDATE_BEFORE", 1),
        (1, "c", "UPDATE_AFTER", 1),
    ]


@pytest.mark.core
def test_changes_that_cancel_out_are_seen(shop):
    """The net changes of the whole range are empty."""
    events = shop.source("events")
    shop.model("audit", COMMITS)
    shop.insert(events, "(1, 'a')")
    shop.run()
    built = shop.head(events)
    shop.insert(events, "(2, 'x')")
    shop.sql(f"delete from {events} where id = 2")
    shop.sql(f"update {events} set v = 'b' where id = 1")
    shop.sql(f"update {events} set v = 'a' where id = 1")
    shop.sql(
        f"call {shop.catalog}.system.rewrite_data_files(table => '{events}', options => map('rewrite-all', 'true'))"
    )
    first = shop.run()
    assert first.ip("audit")["sources"][f"lakehouse.{shop.source_schema}.events"]["from_snapshot_id"] == built
    found = shop.sql(
        f"select id, v, _change_type, _commit_order from {shop.built('audit')} where _commit_snapshot_id <> {built}"
    )
    assert sorted(found, key=lambda each: (each[3], each[2])) == [
        (2, "x", "INSERT", 0),
        (2, "x", "DELETE", 1),
        (1, "b", "UPDATE_AFTER", 2),
        (1, "a", "UPDATE_BEFORE", 2),
        (1, "a", "UPDATE_AFTER", 3),
        (1, "b", "UPDATE_BEFORE", 3),
    ]
    assert shop.run().action("audit") == "nothing"


def test_a_table_that_was_empty_is_read_from_its_first_commit_on(shop):
    events = shop.source("events")
    shop.model("audit", COMMITS)
    shop.run()
    assert shop.rows(shop.built("audit")) == Counter()
    shop.insert(events, "(1, 'a')", "(2, 'a')")
    shop.sql(f"delete from {events} where id = 1")
    shop.run()
    found = shop.sql(f"select id, v, _change_type, _commit_order from {shop.built('audit')}")
    assert sorted(found) == [(1, "a", "DELETE", 1), (1, "a", "INSERT", 0), (2, "a", "INSERT", 0)]


@pytest.mark.core
def test_expired_snapshots_are_an_error_that_says_how_to_continue(shop):
    events = shop.source("events")
    shop.model("audit", COMMITS)
    shop.insert(events, "(1, 'a')")
    shop.run()
    position = Position(None, shop.head(events), None, None)
    for id_ in (2, 3, 4):
        shop.insert(events, f"({id_}, 'a')")
    shop.sql(
        f"call {shop.catalog}.system.expire_snapshots(table => '{events}', retain_last => 2,"
        " older_than => timestamp '2100-01-01')"
    )
    message = shop.fails()
    assert "The changes of each commit to" in message
    assert str(position.snapshot_id) in message
    assert "per='range'" in message
    shop.model("audit", COMMITS, on_history_break={"expired": "full_refresh"})
    assert shop.run().action("audit") == "rebuild"
    assert len(shop.sql(f"select * from {shop.built('audit')}")) == 4


def test_columns_of_the_changelogs_own_names_are_refused(shop):
    events = shop.source("events", "id int")
    shop.model("audit", COMMITS)
    shop.insert(events, "(1)")
    shop.run()
    shop.sql(f"alter table {events} add column _commit_order int")
    shop.insert(events, "(2, 1)")
    assert "a column _commit_order, which the changelog adds" in shop.fails()


def test_an_unknown_per_is_refused(shop):
    events = shop.source("events")
    shop.insert(events, "(1, 'a')")
    shop.model("audit", COMMITS.replace("per='commit'", "per='day'"))
    assert "per='day'" in shop.fails()
