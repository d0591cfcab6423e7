"""The statements and the report of a maintenance plan."""

from __future__ import annotations

import json

import pytest

from dbt.adapters.spark_iceberg.operations.maintain_report import Done, Report, TableReport, progress, result
from dbt.adapters.spark_iceberg.operations.maintain_sql import steps
from iceberg_incremental.maintenance.compaction import DataRewrite, DeleteRewrite, ManifestRewrite
from iceberg_incremental.maintenance.expiry import Expiry, ExpiryRisk, RetainedForReader
from iceberg_incremental.maintenance.table_plan import TablePlan
from iceberg_incremental.table.history import TableName

TABLE = TableName("lake", "ops", "it's")
DATA = DataRewrite(9, 6, 1, 6 << 20, 2, 5, 0, 1, 30, 512 << 20, 128 << 20, frozenset({"a"}))
EXPIRY = Expiry((1, 2), 5, ("old",), 1_767_225_600_000, 1, 2048)
ALL = TablePlan(
    TABLE,
    left=("ip_1_0123456789ab",),
    data=DATA,
    deletes=DeleteRewrite(7, 2, 5, 64 << 20, 16 << 20),
    manifests=ManifestRewrite(40, 1, 4096),
    expiry=EXPIRY,
)


def test_the_order_of_the_statements():
    assert [step.sql for step in steps(ALL, orphan_files=True)] == [
        "ALTER TABLE `lake`.`ops`.`it's` DROP BRANCH IF EXISTS `ip_1_0123456789ab`",
        "CALL `lake`.system.expire_snapshots(table => '`lake`.`ops`.`it\\'s`', "
        "older_than => timestamp_millis(1767225600000), retain_last => 1)",
        "CALL `lake`.system.rewrite_data_files(table => '`lake`.`ops`.`it\\'s`', "
        "options => map('target-file-size-bytes', '536870912', 'min-file-size-bytes', '134217728', "
        "'min-input-files', '5', 'delete-ratio-threshold', '0.3'))",
        "CALL `lake`.system.rewrite_position_delete_files(table => '`lake`.`ops`.`it\\'s`', "
        "options => map('target-file-size-bytes', '67108864', 'min-file-size-bytes', '16777216', "
        "'min-input-files', '5'))",
        "CALL `lake`.system.rewrite_manifests(table => '`lake`.`ops`.`it\\'s`')",
        "CALL `lake`.system.remove_orphan_files(table => '`lake`.`ops`.`it\\'s`', prefix_listing => true)",
    ]


def test_a_table_that_is_left_alone_has_no_statement():
    assert list(steps(TablePlan(TABLE, fresh=("ip_2_0123456789ab",)), orphan_files=True)) == []
    assert list(steps(TablePlan(TABLE))) == []
    assert list(steps(TablePlan(TABLE, is_shared=True), orphan_files=True)) == []
    for found in ("listed_with", "unlocated"):
        assert list(steps(TablePlan(TABLE, **{found: (TableName("lake", "ops", "x"),)}), orphan_files=True)) == []
    assert [step.sql for step in steps(TablePlan(TABLE, is_left=True))] == [
        "DROP TABLE IF EXISTS `lake`.`ops`.`it's` PURGE"
    ]


def report(plan=ALL, returned=None, error=None, dry_run=True, **given):
    done = tuple(Done(step, returned) for step in steps(plan))
    return Report((TableReport(plan, done, error),), dry_run, **given)


def test_as_text():
    assert report().shown.splitlines() == [
        "Dry run: this is what would be done.",
        "lake.ops.it's:",
        "  drop_branch: ip_1_0123456789ab, left behind by a run",
        "  expire_snapshots: 2 of 5 snapshots, those before 2026-01-01 00:00:00 UTC, with at least 2.0 KiB of files "
        "that only they use; expired branches and tags: old",
        "  rewrite_data_files: 6 of 9 data files (6.0 MiB) in 2 partitions into 1; 5 smaller than 128.0 MiB, 1 with at "
        "least 30% of the rows deleted",
        "  rewrite_position_delete_files: 7 files of position deletes, 5 of them for missing data files, into 2",
        "  rewrite_manifests: 40 manifests (4.0 KiB) into 1",
    ]
    returned = {"deleted_data_files_count": 3, "deleted_manifest_lists_count": 1, "deleted_equality_files_count": 0}
    lines = report(TablePlan(TABLE, expiry=EXPIRY), returned, "one\ntwo", dry_run=False).shown
    assert lines.splitlines()[2:] == [
        "    done: 3 data files deleted, 1 manifest list deleted",
        "  failed: one",
        "    two",
    ]
    assert report(TablePlan(TABLE), dry_run=False).shown == "lake.ops.it's: nothing to do"
    assert Report((), False).shown == "No table of the models was found."


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (
            {"rewritten_data_files_count": 38, "rewritten_bytes_count": 2048},
            "38 data files rewritten, 2.0 KiB rewritten",
        ),
        ({"deleted_data_files_count": 0, "deleted_manifest_files_count": 0}, "no file changed"),
        ({"orphan_files": 0}, "no file changed"),
        ({"orphan_files": 2}, "2 orphan files removed"),
        ({"something_new": 7}, "something_new 7"),
        ({}, "done"),
    ],
)
def test_results_of_procedures_omit_zeros(returned, said):
    assert result(returned) == said


def test_each_step_is_announced():
    step = next(iter(steps(TablePlan(TABLE, left=("ip_1_0123456789ab",)))))
    plan = TablePlan(TABLE, left=("ip_1_0123456789ab",))
    assert (
        progress(plan, step, "2 of 7") == "lake.ops.it's (2 of 7): drop_branch: ip_1_0123456789ab, left behind by a run"
    )


def test_as_json():
    found = json.loads(report(returned={"x": 1}, error="no", dry_run=False, format="json").shown)
    (table,) = found["tables"]
    assert found["version"] == 1
    assert (found["dry_run"], table["table"], table["left_alone"], table["error"]) == (False, "lake.ops.it's", [], "no")
    by_action = {each["action"]: each for each in table["actions"]}
    assert by_action["drop_branch"]["planned"] == {"branch": "ip_1_0123456789ab"}
    assert by_action["expire_snapshots"]["planned"]["snapshots"] == 2
    assert "paths" not in by_action["rewrite_data_files"]["planned"]
    assert by_action["rewrite_manifests"]["returned"] == {"x": 1}


def test_the_report_states_what_is_left_alone():
    def said(**given):
        (note,) = json.loads(report(TablePlan(TABLE, **given), format="json").shown)["tables"][0]["left_alone"]
        return note

    assert said(fresh=("ip_2_x",)) == "left alone: ip_2_x may belong to a run that is in progress"
    assert said(hinders=("model.m",)).startswith("not compacted: model.m must run first")
    assert said(unknown={"model.m": "Broken."}).endswith("the checkpoint of model.m cannot be read. Broken.")
    assert said(held_back=RetainedForReader("model.m", 1_767_225_600_000, 1)).startswith(
        "1 snapshot beyond the table's retention"
    )
    assert "ALTER TABLE `lake`.`ops`.`it's`" in said(held_back=ExpiryRisk("model.m", "main"))
