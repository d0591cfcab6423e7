"""Recovery from expiry: which ranges can be read without expired snapshots, how, and with which SQL."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from iceberg_incremental.capture.source_policy import segments_of
from iceberg_incremental.expose import parts
from iceberg_incremental.expose.relations import changelog_sql, changes_sql
from iceberg_incremental.plan.breaks import Break, Obstacle
from iceberg_incremental.plan.changes import Rewritten, plan_changes
from iceberg_incremental.plan.net_changes import break_of_net, plan_net
from iceberg_incremental.plan.policy import Cause
from iceberg_incremental.plan.ranges import Counts, Kind, NetChanges, Range
from iceberg_incremental.plan.recovery import MOST_FILES, Recovered, completed, plan_recovered, recover
from iceberg_incremental.table.files import ChangedFiles, DataFile, FileDifference, TableColumn
from tests.unit.incremental import histories as h

LIBRARY = {"iceberg-version": "Apache Iceberg 1.12.0 (commit abc)", "engine-name": "spark"}
APPEND = ("append", {**h.APPEND, **LIBRARY})
COMPACTION = ("replace", {**h.OVERWRITE, **LIBRARY})
OLD_COMPACTION = ("replace", h.OVERWRITE)
FOREIGN_COMPACTION = ("replace", {**h.OVERWRITE, **LIBRARY, "engine-name": "flink"})
MANIFESTS = ("replace", {"total-data-files": "3", **LIBRARY})
ADDITION = ("overwrite", {**h.ADDITION, **LIBRARY})
NOTHING = ("overwrite", {**h.NO_CHANGE, **LIBRARY})
UPDATE = ("overwrite", {**h.OVERWRITE, **LIBRARY})
OLD_UPDATE = ("overwrite", h.OVERWRITE)

COLUMNS = (TableColumn(1, "id", "int"), TableColumn(2, "v", "variant"))


def table(*commits, lineage=True):
    """A table with three snapshots that were read, and then these commits."""
    kinds = [APPEND, APPEND, APPEND, *commits]
    return h.history(
        *(
            replace(h.snapshot(n, n - 1 if n > 1 else None, *kind), has_row_ids=lineage)
            for n, kind in enumerate(kinds, 1)
        )
    )


def expired(whole, kept=1):
    """The history after all but the newest snapshots have expired."""
    ids = sorted(whole.snapshots)[-kept:]
    return replace(whole, snapshots={each: whole.snapshots[each] for each in ids})


def outcome(whole, kept=1, older=None, upserts=False):
    left = expired(whole, kept)
    broken = plan_changes(left, h.at(3), left.current)
    if isinstance(broken, Rewritten):
        broken = break_of_net(broken)
    assert isinstance(broken, Break)
    assert broken.cause is Cause.EXPIRED
    return recover(broken, completed(broken, [whole] if older is None else older), upserts=upserts)


@pytest.mark.parametrize(
    ("commits", "lineage", "upserts", "by_lineage"),
    [
        ([APPEND, APPEND], False, False, False),
        ([APPEND, ADDITION, NOTHING, MANIFESTS], False, True, False),
        ([APPEND, COMPACTION], True, False, True),
        ([COMPACTION, APPEND, ADDITION], True, False, True),
        ([UPDATE, APPEND], True, True, True),
        ([UPDATE, COMPACTION], True, True, True),
        ([APPEND, COMPACTION], False, False, Obstacle.NO_LINEAGE),
        ([APPEND, OLD_COMPACTION], True, False, Obstacle.NO_LINEAGE),
        ([APPEND, FOREIGN_COMPACTION], True, False, Obstacle.NO_LINEAGE),  # its writer may assign new row ids
        ([UPDATE, APPEND], False, True, Obstacle.NO_LINEAGE),
        ([OLD_UPDATE, APPEND], True, True, Obstacle.NO_LINEAGE),
        ([UPDATE, APPEND], True, False, Obstacle.ROWS_CHANGED),
    ],
)
def test_which_ranges_can_be_recovered(commits, lineage, upserts, by_lineage):
    found = outcome(table(*commits, lineage=lineage), upserts=upserts)
    if isinstance(by_lineage, Obstacle):
        assert isinstance(found, Break)
        assert found.obstacle is by_lineage
    else:
        assert isinstance(found, Recovered)
        assert found.by_lineage is by_lineage
        assert [commit.snapshot_id for commit in found.commits] == [*range(4, 4 + len(commits))]


def test_rows_of_a_file_that_another_table_may_have_written_have_no_lineage_of_this_table():
    whole = table(APPEND, COMPACTION)
    summary = {key: value for key, value in h.APPEND.items() if key not in h.SPARK}  # add_files names no writer
    added = replace(whole.snapshots[2], summary=summary)
    found = outcome(replace(whole, snapshots={**whole.snapshots, 2: added}))
    assert isinstance(found, Break)
    assert found.obstacle is Obstacle.NO_LINEAGE


def test_commits_without_rows_have_no_changes_in_any_format():
    found = outcome(table(NOTHING, OLD_COMPACTION, lineage=False))
    assert isinstance(found, Range)
    assert (found.kind, found.brings_rows, found.position.snapshot_id) == (Kind.EMPTY, False, 5)


def test_only_the_snapshot_that_was_read_has_expired():
    assert isinstance(outcome(table(UPDATE, APPEND), kept=2, upserts=True), Recovered)


@pytest.mark.parametrize(
    "older",
    [
        [],
        [expired(table(APPEND, APPEND), 1)],
        [replace(table(APPEND, APPEND), table_uuid="another")],
    ],
)
def test_the_commits_must_be_known(older):
    found = outcome(table(APPEND, APPEND), older=older)
    assert isinstance(found, Break)
    assert found.obstacle is Obstacle.COMMITS_UNKNOWN


@pytest.mark.parametrize(
    ("known", "cause"),
    [
        (h.history(*h.chain(3), h.snapshot(4, 2), h.snapshot(5, 4)), Cause.ROLLED_BACK),
        (h.history(*h.chain(3), h.snapshot(4, None), h.snapshot(5, 4)), Cause.REBUILT),
    ],
)
def test_the_completed_history_may_show_another_cause(known, cause):
    left = replace(known, snapshots={5: known.snapshots[5]})
    broken = plan_changes(left, h.at(3), left.current)
    assert isinstance(broken, Break)
    assert broken.cause is Cause.EXPIRED
    found = recover(broken, completed(broken, [known]), upserts=False)
    assert isinstance(found, Break)
    assert found.cause is cause
    assert found.ancestor is None  # the ancestor has expired, so no run could continue from it


def test_only_the_required_metadata_files_are_read():
    def older():
        yield expired(table(APPEND, APPEND, APPEND), 2)
        yield table(APPEND, APPEND)
        raise AssertionError("one too many")

    assert isinstance(outcome(table(APPEND, APPEND, APPEND), older=older()), Recovered)


def test_a_position_without_a_sequence_number_cannot_be_recovered():
    left = expired(table(APPEND, APPEND))
    broken = plan_changes(left, h.at(3, sequence_number=None), left.current)
    assert isinstance(broken, Break)
    assert isinstance(recover(broken, table(APPEND, APPEND), upserts=False), Break)


def test_too_many_files_require_row_lineage():
    many = ("append", {**h.APPEND, "added-data-files": str(MOST_FILES)})
    assert isinstance(outcome(table(APPEND, many, lineage=False)), Break)
    found = outcome(table(APPEND, many))
    assert isinstance(found, Recovered)
    assert found.by_lineage


# In the following tests, a tag holds the snapshot that was read, so both ends can be compared.


def held(*commits, older=True, lineage=True, **consumer):
    whole = table(*commits, lineage=lineage)
    left = replace(whole, snapshots={each: whole.snapshots[each] for each in (3, 3 + len(commits))})
    broken = plan_changes(left, h.at(3), left.current)
    assert isinstance(broken, Break)
    assert broken.cause is Cause.EXPIRED
    known = completed(broken, [whole] if older else [])
    return recover(broken, known, **{"upserts": False, **consumer})


@pytest.mark.parametrize("lineage", [True, False])
def test_net_changes_compare_the_ends(lineage):
    found = held(UPDATE, COMPACTION, APPEND, lineage=lineage, nets=True)
    assert isinstance(found, Rewritten)
    assert found.commits is not None
    assert [commit.snapshot_id for commit in found.rewrites] == [4]
    assert [commit.snapshot_id for commit in found.commits] == [4, 5, 6]
    assert not found.is_whole


def test_a_changelog_does_not_require_known_commits():
    found = held(UPDATE, APPEND, older=False, nets=True, any_way=True)
    assert isinstance(found, Rewritten)
    assert found.commits is None
    new = (DataFile("new", records=10, size=100),)
    changed = ChangedFiles(
        COLUMNS,
        COLUMNS,
        FileDifference(new, new, ()),
        start_has_row_ids=True,
        without_deletes=True,
        has_present_columns=True,
    )
    planned = plan_net(found, changed)
    assert isinstance(planned, NetChanges)
    assert planned.net.by_ends
    assert not planned.net.has_log
    assert planned.net.untouched_since is None
    assert planned.counts.records == 20
    assert segments_of(found) == []


def test_the_changelog_scan_does_not_read_across_expired_snapshots():
    new = (DataFile("new", records=10, size=100),)
    found = held(ADDITION, UPDATE, nets=True)
    assert isinstance(found, Rewritten)
    files = ChangedFiles(
        COLUMNS, COLUMNS, FileDifference(new * 9, new * 9, ()), without_deletes=True, has_present_columns=True
    )
    whole = replace(found, history=table(ADDITION, UPDATE))
    logs = [
        each.net.has_log for each in (plan_net(found, files), plan_net(whole, files)) if isinstance(each, NetChanges)
    ]
    assert logs == [False, True]


def test_upserts_require_known_commits():
    found = held(UPDATE, APPEND, older=False, nets=True)
    assert isinstance(found, Break)
    assert found.obstacle is Obstacle.COMMITS_UNKNOWN


def test_appends_before_a_compaction_are_found_in_any_format():
    found = held(APPEND, COMPACTION, lineage=False)
    assert isinstance(found, Rewritten)
    assert found.rewrites == ()


def test_appends_are_preferably_found_by_their_files():
    found = held(APPEND, APPEND, lineage=False)
    assert isinstance(found, Recovered)
    assert not found.by_lineage


def test_a_rewrite_cannot_be_recovered_for_a_consumer_of_appends():
    found = held(UPDATE, APPEND)
    assert isinstance(found, Break)
    assert found.obstacle is Obstacle.ROWS_CHANGED


def test_recovered_rows_are_not_pruned_by_the_present_names_of_other_columns():
    found = outcome(table(APPEND, COMPACTION, APPEND))
    assert isinstance(found, Recovered)
    swapped = tuple(replace(each, name=f"other_{each.name}") for each in COLUMNS)
    files = FileDifference((), (DataFile("new", records=10, size=100),), ())
    for present, expected in ((COLUMNS, False), (swapped, True)):
        planned = plan_recovered(found, ChangedFiles(COLUMNS, COLUMNS, files, present=present))
        assert ("TABLESAMPLE (100 PERCENT)" in changes_sql(planned)) is expected


def range_of(*commits, files=2):
    found = outcome(table(*commits))
    assert isinstance(found, Recovered)
    new = tuple(DataFile(f"{n:0100}", records=10, size=100) for n in range(files))
    return plan_recovered(found, ChangedFiles(COLUMNS, COLUMNS, FileDifference((), new, ())))


def test_the_range():
    planned = range_of(APPEND, COMPACTION, APPEND)
    assert planned.counts == Counts(2, 2, 20, 200, at_most=True)
    assert (planned.start, planned.position.snapshot_id) == (h.at(3), 6)
    unlisted = plan_recovered(outcome(table(APPEND, COMPACTION, APPEND)), ChangedFiles(COLUMNS, COLUMNS))
    assert (unlisted.counts.snapshots, unlisted.counts.files, unlisted.counts.records) == (2, 4, 20)


def test_rows_by_files_always_list_the_files():
    planned = range_of(APPEND, APPEND, files=2 * parts._LONGEST_FILE_LIST // 100)
    sql = changes_sql(planned)
    assert sql.startswith("(select `id`, `v` from `lake`.`ops`.`flights` VERSION AS OF 5 where (_file in ('000")
    assert sql.count("'0") == len(planned.net.changed.files.all)
    assert "VERSION AS OF 3" not in sql


def test_rows_by_row_lineage():
    sql = changelog_sql(range_of(APPEND, COMPACTION))
    assert sql.startswith(
        "(select `id`, `v`, 'INSERT' as _change_type from `lake`.`ops`.`flights` VERSION AS OF 5 where "
    )
    assert "(_last_updated_sequence_number > 3)" in sql
    many = changes_sql(range_of(APPEND, COMPACTION, files=2 * parts._LONGEST_FILE_LIST // 100))
    assert many.endswith("VERSION AS OF 5 where (_last_updated_sequence_number > 3))")


# A model of a table, to compare the rows that both methods read with the rows that the commits added or changed.


@pytest.mark.parametrize("seed", range(300))
def test_random_histories(seed):
    """A row is the pair of the commits that added and last changed it. A file is its commit and its rows."""
    chance = random.Random(seed)
    files = [(number, [[number, number]]) for number in (1, 2, 3)]
    commits, changed = [], False
    for number in range(4, 4 + chance.randint(1, 6)):
        kind = chance.choice([APPEND, ADDITION, NOTHING, MANIFESTS, COMPACTION, UPDATE])
        if kind in (APPEND, ADDITION):
            files.append((number, [[number, number]]))
        elif kind is COMPACTION:
            files = [(number, [row for _, rows in files for row in rows])]
        elif kind is UPDATE:
            changed = True
            place = chance.randrange(len(files))
            rows = [list(row) for row in files[place][1]]
            rows[chance.randrange(len(rows))][1] = number
            files[place] = (number, rows)
        commits.append(kind)
    whole = table(*commits, lineage=chance.random() < 0.7)
    upserts = chance.random() < 0.5
    found = outcome(whole, older=[whole], upserts=upserts) if len(commits) > 1 else None
    rows = [tuple(row) for _, held in files for row in held]
    if isinstance(found, Range):
        assert all(row[0] <= 3 and row[1] <= 3 for row in rows)
    if not isinstance(found, Recovered):
        return
    if found.by_lineage:
        read = [row for row in rows if row[1] > found.since]
    else:
        read = [tuple(row) for added_at, held in files if added_at > found.since for row in held]
    assert upserts or not changed
    assert sorted(read) == sorted(row for row in rows if row[0] > 3 or row[1] > 3)
