"""Metadata that is read with Spark SQL, from simulated results of statements."""

from __future__ import annotations

import pytest

from iceberg_incremental.errors import MetadataAccessError, NotIcebergError, StatementError, ViewError
from iceberg_incremental.metadata.spark_reader import SparkReader
from iceberg_incremental.table.history import Retention
from iceberg_incremental.table.layout import LiveSpec
from tests.unit.incremental.metadata.catalogs import TABLE

ICEBERG = [("format", "iceberg/parquet"), ("format-version", "2"), ("current-snapshot-id", "2"), ("owner.team", "ops")]
DETAILS = ("# Detailed Table Information", "", "")
TABLE_ROWS = {
    "show tblproperties": ICEBERG,
    ".refs": [
        ("main", 2, None, "BRANCH", None, None),
        ("side", 1, 60000, "BRANCH", 2, 5),
        ("t", 1, None, "TAG", None, None),
    ],
    ".metadata_log_entries": [("a.json", None, None, 500, None), ("b.json", 1, 1, 1000, 0), ("c.json", 2, 2, 2000, 0)],
    ".snapshots": [(1, None, 1000, "append", '{"added-records": "3"}'), (2, 1, 2000, "delete", None)],
}


def reader(rows):
    """A reader. A statement returns the rows, or raises the exception, of the first key that it contains."""

    def run(sql):
        found = next(given for part, given in rows.items() if part in sql)
        if isinstance(found, Exception):
            raise found
        return found

    return SparkReader(run)


def test_a_history():
    history = reader(TABLE_ROWS).load(TABLE)
    assert (history.current_snapshot_id, history.refs, history.format_version) == (2, {"main": 2, "side": 1, "t": 1}, 2)
    assert history.ref_ages == {"side": 60000}
    assert history.branches == {"main": Retention(), "side": Retention(2, 5)}
    assert history.updated_ms == 2000
    assert history.table_uuid is None
    assert [(s.snapshot_id, s.parent_id, s.sequence_number, s.operation) for s in history.snapshots.values()] == [
        (1, None, 1, "append"),
        (2, 1, 2, "delete"),
    ]
    assert history.snapshots[1].number("added-records") == 3


@pytest.mark.parametrize(
    ("file", "created_ms"),
    [
        ("s3://b/t/metadata/00000-9c12d441.metadata.json", 500),
        ("s3://b/t/metadata/00000-9c12d441.gz.metadata.json", 500),
        ("/w/t/metadata/v1.metadata.json", 500),
        ("/w/t/metadata/v10.metadata.json", None),
        ("s3://b/t/metadata/00100-9c12d441.metadata.json", None),
        ("s3://b/00000-x/metadata/9c12d441.metadata.json", None),
    ],
)
def test_the_time_of_creation(file, created_ms):
    log = [(file, None, None, 500, None), ("b.json", 1, 1, 1000, 0), ("c.json", 2, 2, 2000, 0)]
    assert reader({**TABLE_ROWS, ".metadata_log_entries": log}).load(TABLE).created_ms == created_ms


@pytest.mark.parametrize("kind", [RuntimeError, StatementError])
def test_a_missing_table(kind):
    missing = kind("[TABLE_OR_VIEW_NOT_FOUND] The table cannot be found")
    assert reader({"show tblproperties": missing}).load(TABLE) is None


@pytest.mark.parametrize(
    ("described", "error", "said"),
    [
        ([DETAILS, ("Type", "VIEW", "")], ViewError, "is a view"),
        ([("# Detailed View Information", "", "")], ViewError, "is a view"),
        ([DETAILS, ("Provider", "parquet", "")], NotIcebergError, "is a table of format parquet"),
        ([DETAILS], NotIcebergError, "is a table of format unknown"),
    ],
)
def test_views_and_tables_of_other_formats_are_refused(described, error, said):
    with pytest.raises(error, match=f"lake.ops.flights {said}; expected an Iceberg table"):
        reader({"show tblproperties": [], "describe table": described}).load(TABLE)


def test_a_head_that_no_longer_exists():
    with pytest.raises(MetadataAccessError, match="main was at snapshot 2, which no longer exists"):
        reader({**TABLE_ROWS, ".snapshots": []}).load(TABLE)


def test_columns_if_the_schema_is_unchanged():
    """The columns are those of the snapshots, even if the table was altered later."""
    rows = {
        **TABLE_ROWS,
        ".metadata_log_entries": [(1, 0), (2, 0)],
        "version as of 2": [("id", "int", None), ("a", "int", None), ("b", "int", None)],
        "describe query": [("id", "int", ""), ("b", "int", ""), ("a", "int", "")],
    }
    changed = reader(rows).changed_files(reader(TABLE_ROWS).load(TABLE), 1, 2)
    assert [column.name for column in changed.end] == ["id", "a", "b"] and changed.files is None
    assert changed.renamed == {2, 3}


@pytest.mark.parametrize(
    ("log", "found"), [([(1, 0), (2, 1)], "schema 0 and schema 1"), ([(2, 1)], "an unknown schema and")]
)
def test_columns_if_the_schema_changed_or_is_unknown(log, found):
    rows = {**TABLE_ROWS, ".metadata_log_entries": log}
    with pytest.raises(MetadataAccessError, match=found):
        reader(rows).changed_files(reader(TABLE_ROWS).load(TABLE), 1, 2)


def test_snapshots_whose_columns_are_unknown_are_assumed_to_have_other_names():
    log = [("a.json", 1, 1, 1000, 0), ("b.json", 2, 2, 2000, 1), ("c.json", 3, 3, 3000, 1)]
    snapshots = [(number, number - 1 or None, number, "append", None) for number in range(5)]
    rows = {**TABLE_ROWS, ".refs": [("main", 3, None, "BRANCH", None, None)], ".metadata_log_entries": log}
    found = reader({**rows, ".snapshots": snapshots}).load(TABLE).snapshots
    assert [number for number, each in found.items() if each.has_other_names] == [0, 1, 4]


def test_live_specs_by_their_numbers():
    rows = {**TABLE_ROWS, ".manifests": [(0, 3), (1, 2)]}
    assert reader(rows).live_specs(reader(TABLE_ROWS).load(TABLE), 2) == [LiveSpec(0, 3), LiveSpec(1, 2)]


@pytest.mark.parametrize("kind", [RuntimeError, StatementError])
def test_a_statement_that_fails(kind):
    with pytest.raises(MetadataAccessError, match=r"Spark cannot read the metadata of lake\.ops\.flights: lost"):
        reader({"show tblproperties": kind("lost")}).load(TABLE)
