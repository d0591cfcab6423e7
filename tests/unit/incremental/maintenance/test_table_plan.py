"""The maintenance plan of one table."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from iceberg_incremental.maintenance.branches import OwnBranches
from iceberg_incremental.maintenance.expiry import RetainedForReader
from iceberg_incremental.maintenance.readers import Reader
from iceberg_incremental.maintenance.table_plan import KnownTable, TablePlan, plan_table
from iceberg_incremental.table.files import Content, LiveFile, LiveFiles
from tests.unit.incremental.histories import EPOCH_MS, FLIGHTS, at, chain, history

NOW = EPOCH_MS + 100_000
AT_ONCE = timedelta(seconds=1)
SMALL = LiveFiles(tuple(LiveFile(Content.DATA, f"f{n}", 0, None, 10, 100) for n in range(6)), {}, 0)
DELETES = tuple(LiveFile(Content.POSITION_DELETES, f"d{n}", 0, None, 1, 10, "f0") for n in range(6))


def known(*snapshots, **given):
    return KnownTable(history(*(snapshots or chain(6))), SMALL, **given)


def test_a_table_is_compacted_and_expires_up_to_its_readers():
    plan = plan_table(known(readers=[Reader("m", at(4))]), NOW, AT_ONCE)
    assert (plan.data.files, plan.expiry.snapshots) == (6, (1, 2, 3))
    assert plan.held_back == RetainedForReader("m", at(4).timestamp_ms, 2)


def test_a_table_is_left_alone_while_a_run_may_be_in_progress():
    plan = plan_table(known(branches=OwnBranches(("ip_1_x",), ("ip_2_x",))), NOW, AT_ONCE)
    assert plan == TablePlan(FLIGHTS, fresh=("ip_2_x",))


def test_no_snapshot_expires_if_readers_are_unknown_or_files_are_shared():
    plan = plan_table(known(unknown_readers={"m": "broken"}), NOW, AT_ONCE)
    assert (plan.expiry, plan.unknown) == (None, {"m": "broken"}) and plan.data is not None
    shared = replace(known(), history=history(*chain(6), properties={"gc.enabled": "false"}))
    plan = plan_table(shared, NOW, AT_ONCE)
    assert (plan.expiry, plan.is_shared) == (None, True) and plan.data is not None


def test_files_are_kept_for_a_reader_that_needs_their_names():
    plan = plan_table(known(*chain(3, first=5), readers=[Reader("m", at(2))]), NOW, AT_ONCE)
    assert (plan.data, plan.hinders) == (None, ("m",))
    plan = plan_table(KnownTable(history(*chain(3, first=5)), None, readers=[Reader("m", at(2))]), NOW, AT_ONCE)
    assert (plan.data, plan.hinders) == (None, ())


def test_deletes_are_merged_in_format_2_if_their_data_files_are_not_rewritten():
    with_deletes = replace(SMALL, files=(*SMALL.files, *DELETES))
    assert plan_table(replace(known(), live=with_deletes), NOW, AT_ONCE).deletes is None
    with_deletes = replace(with_deletes, files=(replace(SMALL.files[0], records=1000), *DELETES))
    plan = plan_table(replace(known(), live=with_deletes), NOW, AT_ONCE)
    assert plan.data is None
    assert (plan.deletes.files, plan.deletes.files_after, plan.deletes.dangling) == (6, 1, 0)
    of_3 = replace(history(*chain(6)), format_version=3)
    assert plan_table(KnownTable(of_3, with_deletes), NOW, AT_ONCE).deletes is None


def test_dropped_branches_keep_no_snapshot():
    side = replace(history(*chain(6), refs={"main": 6, "ip_1_x": 2}))
    side = replace(side, branches={**side.branches, "ip_1_x": side.branches["main"]})
    plan = plan_table(KnownTable(side, SMALL, branches=OwnBranches(("ip_1_x",))), NOW, AT_ONCE)
    assert (plan.left, plan.expiry.snapshots) == (("ip_1_x",), (1, 2, 3, 4, 5))
