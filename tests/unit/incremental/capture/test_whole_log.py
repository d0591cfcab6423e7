"""When a history from a log may be rebuilt. The log must still contain all events that were read from it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from iceberg_incremental.capture.run import Run
from iceberg_incremental.capture.run_plan import Action
from iceberg_incremental.capture.versions_run import recorded
from iceberg_incremental.errors import CheckpointError, ConfigError
from iceberg_incremental.plan.versions_config import HistoryConfig
from iceberg_incremental.table.checkpoint import Place, RowOrder, parse
from iceberg_incremental.table.history import MAIN
from tests.unit.incremental.runs import SOURCE, TARGET, Reader, applying, captured, carrying, cp, hist, opened, snap

CONFIG = {"incremental_strategy": "history", "unique_key": "id", "sequence_by": "at"}
DELETE = {"deleted-data-files": "1", "deleted-records": "1", "total-records": "8"}
COMPACTED = {"added-data-files": "1", "deleted-data-files": "2", "total-data-files": "1"}


def kept(at=2, whole=True, config=None, **position):
    """The checkpoint of a history whose log was read up to a snapshot."""
    known = recorded(config or HistoryConfig(("id",), sequence_by="at"), 0)
    order = RowOrder(("at",), key=("id",))
    return replace(cp(4, at, **position), history=replace(known, has_whole_log=whole), sequence=order)


def empty():
    """The checkpoint of a history whose log had no snapshot yet."""
    found = kept()
    sources = {
        name: replace(each, snapshot_id=None, sequence_number=None, timestamp_ms=None)
        for name, each in found.sources.items()
    }
    return replace(found, sources=sources)


def reader(*commits, checkpoint=None, **source):
    return Reader(s=hist(SOURCE, *commits, **source), t=hist(TARGET, carrying(100, None, checkpoint or kept())))


def refreshed(found, **config):
    return opened(found, config={**CONFIG, **config}, full_refresh=True)


def test_only_versions_of_a_log_are_continued():
    """Other versions may have ended by deletions that are not recorded."""
    assert not opened(reader(snap(1, None), snap(2, 1)), config=CONFIG).is_rebuild
    found = reader(snap(1, None), snap(2, 1), checkpoint=replace(kept(), history=None))
    with pytest.raises(CheckpointError, match="were not created from a log"):
        opened(found, config=CONFIG)
    with pytest.raises(CheckpointError, match="versions that were not created from a log") as raised:
        refreshed(found)
    assert "ip_set_checkpoint" not in raised.value.msg
    assert not opened(found, config=CONFIG, full_refresh=True, drops_history=True).replays


@pytest.mark.parametrize(
    "found",
    [
        reader(snap(1, None), snap(2, 1), snap(3, 2)),
        reader(snap(2, 1), snap(3, 2)),
        reader(snap(3, 2)),
        reader(snap(2, 1), snap(3, 2, COMPACTED, "replace")),
        reader(snap(1, None, DELETE, "overwrite"), snap(2, 1)),
        reader(checkpoint=empty()),
    ],
    ids=[
        "rows came",
        "the first commits have expired",
        "the commit that was read has expired",
        "compacted",
        "changed before it was read as a whole",
        "empty",
    ],
)
def test_a_log_that_only_gained_rows_is_complete(found):
    run = refreshed(found)
    assert (run.is_rebuild, run.replays, run.keeps_versions) == (True, True, False)
    assert replace(run, passes_through=True).action is Action.CHECK_ONLY


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (reader(snap(2, 1), snap(3, 2, DELETE, "overwrite")), "snapshot 3 of lake.ops.events changed or deleted rows"),
        (reader(snap(1, None), snap(9, None), head=9), "does not come from snapshot 2"),
        (reader(snap(2, 1), uuid="another"), "is another table"),
        (reader(snap(1, None), snap(2, 1), snap(3, 2), checkpoint=kept(whole=False)), "may have skipped"),
        (Reader(t=hist(TARGET, carrying(100, None, kept()))), "has no rows"),
    ],
)
def test_an_incomplete_log_does_not_rebuild_its_history(found, said):
    with pytest.raises(CheckpointError) as raised:
        refreshed(found)
    assert said in str(raised.value)
    assert "ip_set_checkpoint" in str(raised.value)
    assert not opened(found, config=CONFIG, full_refresh=True, drops_history=True).replays


def test_a_history_break_does_not_rebuild_the_history():
    found = reader(snap(9, None), uuid="another")
    with pytest.raises(CheckpointError, match="is another table"):
        opened(found, config=CONFIG)


def test_a_table_without_a_checkpoint_is_not_rebuilt():
    found = Reader(s=hist(SOURCE, snap(1, None)), t=hist(TARGET, snap(100, None)))
    with pytest.raises(CheckpointError, match="no checkpoint that records what was read"):
        opened(found, config={**CONFIG, "on_missing_checkpoint": "full_refresh"})


def test_a_source_that_is_no_longer_read_cannot_be_complete():
    other = reader(snap(1, None), snap(2, 1), checkpoint=kept(source=TARGET))
    with pytest.raises(CheckpointError, match="is not read any more"):
        refreshed(other)
    assert refreshed(reader(snap(1, None), snap(2, 1), checkpoint=kept(source=TARGET, as_of=True))).replays


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"check_cols": ["v"]}, "check_cols is v, but was all"),
        ({"unique_key": ["id", "v"]}, "unique_key is id, v, but was id"),
        ({"sequence_by": "n"}, "sequence_by is n, but was at"),
        ({"hard_deletes": "ignore"}, "hard_deletes is ignore, but was invalidate"),
    ],
)
def test_a_changed_config_is_an_error_until_all_versions_are_rebuilt(config, said):
    found = reader(snap(1, None), snap(2, 1), snap(3, 2))
    with pytest.raises(ConfigError) as raised:
        opened(found, config={**CONFIG, **config})
    assert said in str(raised.value)
    assert "rebuild all versions with the new config" in str(raised.value)
    assert refreshed(found, **config).replays


def test_the_history_of_a_table_is_not_continued_from_a_log():
    found = reader(snap(1, None), snap(2, 1), checkpoint=kept(config=HistoryConfig(("id",))))
    with pytest.raises(ConfigError) as raised:
        opened(found, config=CONFIG)
    assert "sequence_by is at, but was NULL" in str(raised.value)
    assert "rebuild all versions with the new config" not in str(raised.value)


def test_a_run_that_skips_commits_is_recorded():
    def whole(found, **config):
        run = applying(found, **CONFIG, **config)
        recorded_as = parse(run.next_checkpoint().to_json(), Place(TARGET)).history
        assert recorded_as is not None
        return recorded_as.has_whole_log

    def log():
        return reader(snap(1, None), snap(2, 1), snap(3, 2))

    assert whole(log())
    assert not whole(log(), on_source_rewrite="ignore")
    assert not whole(reader(snap(2, 1), snap(3, 2), checkpoint=kept(whole=False)))
    built = Run(captured(refreshed(log()), log()))
    assert built.next_checkpoint().history.has_whole_log


def test_a_run_without_events_also_records_whether_the_log_is_complete():
    found = reader(snap(1, None), snap(2, 1), snap(3, 2, COMPACTED, "replace"))
    for policy, expected in (("fail", True), ("ignore", False)):
        run = Run(captured(opened(found, config={**CONFIG, "on_source_rewrite": policy}), found))
        assert run.plan.action is Action.ADVANCE
        assert run.next_checkpoint().history.has_whole_log is expected
    assert found.load(TARGET).refs[MAIN] == 100
