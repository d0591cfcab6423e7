"""The ledger proves that ranges are contiguous, or names the first gap, overlap or wrong count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dbt.adapters.spark_iceberg.status.ledger import Finding, Ledger, as_text, entries, ledger
from iceberg_incremental.table.checkpoint import KEY, Checkpoint, Position
from iceberg_incremental.table.commits import PART_KEY
from iceberg_incremental.table.history import History, Snapshot
from iceberg_incremental.table.shares import Share
from tests.unit.incremental.histories import APPEND, NO_CHANGE, OVERWRITE, at, chain, history, snapshot

SOURCE = "lake.ops.flights"
SOURCE_HISTORY = history(*chain(9))


def checkpoint(epoch: int, position: Position) -> Checkpoint:
    return Checkpoint("model.shop.m", epoch, f"run-{epoch}", {SOURCE: position})


def resumed(start: int | None, end: int) -> Position:
    return replace(at(end), continues=True, from_snapshot_id=start)


def commit(number: int, position: Position, *, total: int, parent: int | None = -1) -> Snapshot:
    """A commit of the target that added ten rows. ``number`` is its epoch."""
    summary = {**APPEND, "total-records": str(total), KEY: checkpoint(number, position).to_json()}
    return snapshot(100 + number, number + 99 if parent == -1 else parent, summary=summary)


def target(*snapshots: Snapshot, properties: Mapping[str, str] | None = None) -> History:
    return history(*snapshots, properties=properties)


def of(found: History, *older: History) -> Ledger:
    return ledger(found, entries(found, older), {SOURCE: SOURCE_HISTORY})


FIRST = commit(1, at(2), total=10, parent=None)


def test_contiguous_ranges_and_counts():
    found = of(target(FIRST, commit(2, resumed(2, 5), total=20), commit(3, resumed(5, 9), total=30)))
    assert (found.first_wrong, found.first_broken, list(found.foreign)) == (None, None, [])
    assert [(line.kind, line.snapshots, line.records) for line in found.lines] == [
        ("whole", 2, 20),
        ("range", 3, 30),
        ("range", 4, 40),
    ]
    assert sum(line.records or 0 for line in found.lines) == 90  # each row of the source exactly once


def test_the_first_gap_is_named():
    found = of(target(FIRST, commit(2, resumed(3, 5), total=20), commit(3, resumed(6, 9), total=30)))
    assert found.first_wrong is not None
    assert (found.first_wrong.epoch, found.first_wrong.finding) == (2, Finding.GAP)


def test_an_overlap_and_an_unrelated_range():
    table = target(FIRST, commit(2, resumed(1, 5), total=20), commit(3, resumed(77, 9), total=30))
    found = of(table)
    assert [line.finding for line in found.lines] == [None, Finding.OVERLAP, Finding.UNRELATED]
    assert "(1, 5], 4 commits, which added 40 rows  <- overlap" in as_text(found, entries(table, []))


def test_a_count_of_one_is_singular():
    table = target(FIRST, commit(2, resumed(2, 3), total=20))
    assert "(2, 3], 1 commit, which added 10 rows" in as_text(of(table), entries(table, []))


def test_moved_or_set_positions_are_read_from_the_property():
    """An advance or a rewind creates no snapshot. It is found in older metadata of the same history."""
    second = commit(3, resumed(5, 6), total=20, parent=101)
    now = target(FIRST, second)
    advanced = target(FIRST, properties={KEY: checkpoint(2, resumed(2, 5)).mirrored(101).to_json()})
    assert [line.finding for line in of(now, advanced).lines] == [None, None, None]
    assert [line.finding for line in of(now).lines] == [None, Finding.UNPROVEN]  # epoch 2 is unknown
    undone = target(FIRST, properties={KEY: checkpoint(2, resumed(2, 5)).mirrored(999).to_json()})
    assert [line.finding for line in of(now, undone).lines] == [None, Finding.UNPROVEN]
    rewound = target(FIRST, properties={KEY: checkpoint(2, at(5)).mirrored(101).to_json()})
    assert [line.kind for line in of(now, rewound).lines] == ["whole", "by_hand", "range"]
    shown = as_text(of(now, rewound), entries(now, [rewound])).splitlines()
    assert [line for line in shown if "set by hand" in line and "expired" in line] == []


def test_a_rebuild_starts_a_new_ledger():
    rebuilt = commit(2, at(7), total=10, parent=None)
    found = of(target(FIRST, rebuilt))
    assert [line.kind for line in found.lines] == ["whole"]  # replaced snapshots are not ancestors


def test_a_run_that_replaced_all_rows_of_its_table_is_proven():
    """A model with the strategy auto does this with an INSERT OVERWRITE, which keeps the history of the table."""
    replaced = {**OVERWRITE, "total-records": "10", KEY: checkpoint(2, at(7)).to_json()}
    found = of(target(FIRST, snapshot(102, 101, "overwrite", replaced), commit(3, resumed(7, 9), total=20)))
    assert [(line.kind, line.finding) for line in found.lines] == [("whole", None), ("whole", None), ("range", None)]


def test_counts_that_do_not_match():
    found = of(target(FIRST, commit(2, resumed(2, 5), total=19)))
    assert found.first_broken is not None
    assert (found.first_broken.epoch, found.first_broken.broken_at) == (2, 102)


def test_a_run_of_two_commits_and_other_writers():
    foreign = snapshot(50, 101, summary={**APPEND, "total-records": "20"})
    compaction = snapshot(51, 50, "replace", {**NO_CHANGE, "total-records": "20"})
    inserted = snapshot(52, 51, summary={**APPEND, "total-records": "30", PART_KEY: "2"})
    deleted = snapshot(
        102, 52, "delete", {KEY: checkpoint(2, resumed(2, 5)).to_json(), "deleted-records": "4", "total-records": "26"}
    )
    found = of(target(FIRST, foreign, compaction, inserted, deleted))
    assert found.foreign == [50]
    assert [(t.rows_added, t.rows_removed, t.adds_up) for t in found.totals] == [(10, 0, True), (10, 4, True)]


def test_a_source_whose_history_has_expired():
    found = ledger(target(FIRST), entries(target(FIRST), []), {SOURCE: history(*chain(3, first=5))})
    assert (found.lines[0].snapshots, found.lines[0].records) == (None, None)


SIZES = {"total-records": "90", "total-files-size": "9000"}
SIZED = history(*(replace(each, summary={**each.summary, **SIZES}) for each in chain(9)))
STORED = Share(7, 700, 80, 8000)


def read_of(*commits: Snapshot, source: History = SIZED, property_: Checkpoint | None = None) -> list[Share | None]:
    table = target(*commits, properties={} if property_ is None else {KEY: property_.to_json()})
    return [line.share for line in ledger(table, entries(table, []), {SOURCE: source}).lines]


def test_the_share_is_read_from_the_checkpoint():
    checkpoint_ = replace(checkpoint(1, at(2)), shares={SOURCE: STORED})
    commit_ = replace(FIRST, summary={**FIRST.summary, KEY: checkpoint_.to_json()})
    assert read_of(commit_) == [STORED]
    assert read_of(commit_, source=history(*chain(3, first=5))) == [STORED]  # the source's snapshots have expired


def test_the_share_of_older_checkpoints_is_computed_from_the_source():
    as_of = commit(3, replace(resumed(5, 6), as_of=True), total=30)
    found = read_of(FIRST, commit(2, resumed(2, 5), total=20), as_of)
    assert found == [Share(90, 9000, 90, 9000), Share(30, 3000, 90, 9000), Share(90, 9000, 90, 9000)]
    assert read_of(FIRST, source=history(*chain(3, first=5))) == [None]
    assert read_of(FIRST, source=SOURCE_HISTORY) == [None]  # the summaries have no sizes


def test_moved_or_set_positions_read_no_rows():
    moved = checkpoint(2, resumed(2, 5)).mirrored(101)
    assert read_of(FIRST, property_=moved)[1:] == [Share(0, 0, 90, 9000)]
    assert read_of(FIRST, property_=checkpoint(2, at(5)).mirrored(101))[1:] == [None]


def test_the_sum_is_the_last_line():
    table = target(FIRST, commit(2, resumed(2, 5), total=20))
    found = ledger(table, entries(table, []), {SOURCE: SIZED})
    lines = as_text(found, entries(table, [])).splitlines()
    assert lines[-2].endswith("which added 30 rows; read 30 of 90 rows (33.3%), 2.9 KiB of 8.8 KiB")
    assert lines[-1] == "read in total: 120 of 180 rows (66.7%), 11.7 KiB of 17.6 KiB"


def test_row_counts_of_a_run_whose_snapshot_has_expired_are_unknown():
    """The checkpoint of this run, and one that was only moved, are known from older metadata files."""
    second, third = commit(2, resumed(2, 5), total=20), commit(4, resumed(6, 9), total=30, parent=102)
    moved = {KEY: checkpoint(3, resumed(5, 6)).mirrored(102).to_json()}
    now, older = target(third), target(FIRST, second, properties=moved)
    found = of(now, older)
    assert (found.uncounted, [each.epoch for each in found.totals]) == ([1, 2], [4])
    said = [line for line in as_text(found, entries(now, [older])).splitlines() if line.startswith("epoch")]
    assert [line.partition(": ")[2] for line in said] == [
        "rows written are unknown, because the snapshot has expired",
        "rows written are unknown, because the snapshot has expired",
        "moved the checkpoint only",
        "+10 -0 rows",
    ]
