"""The two ends of a range: lookup of columns, and which ranges Iceberg's scans can read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from iceberg_incremental.table.files import ChangedFiles, FileDifference, TableColumn
from tests.unit.incremental.data_files import file

ID, NAME, UPPER = TableColumn(1, "id", "int"), TableColumn(2, "name", "string"), TableColumn(3, "NAME", "string")
SAME = ChangedFiles((ID, NAME), (ID, NAME), without_deletes=True, has_present_columns=True)


def struct(**ids):
    fields = [{"id": id_, "name": name, "type": "int"} for name, id_ in ids.items()]
    return {"type": "list", "element": {"type": "struct", "fields": fields}}


@pytest.mark.parametrize(
    ("columns", "name", "found"),
    [
        ((ID, NAME), "Name", NAME),
        ((ID, NAME, UPPER), "NAME", UPPER),
        ((ID, NAME, UPPER), "Name", None),
        ((ID,), "x", None),
    ],
)
def test_a_column_is_found_regardless_of_case_if_it_is_unique(columns, name, found):
    assert ChangedFiles(columns, columns).column(name) == found


@pytest.mark.parametrize(
    ("start", "renamed", "another"),
    [
        ((ID, NAME), (), False),
        ((ID,), (), False),
        ((ID, TableColumn(9, "name", "string")), (), True),
        ((ID, NAME), (2,), True),
    ],
)
def test_a_name_may_mean_another_column_at_the_start_or_now(start, renamed, another):
    assert ChangedFiles(start, (ID, NAME), renamed=frozenset(renamed)).is_another("Name") is another


@pytest.mark.parametrize(
    ("start", "others"),
    [((ID, NAME), []), ((ID,), []), ((ID, TableColumn(9, "Name", "string")), ["name"]), ((NAME, ID), [])],
)
def test_columns_that_have_taken_the_name_of_another(start, others):
    assert ChangedFiles(start, (ID, NAME)).others == others
    assert ChangedFiles(start, (), present=(ID, NAME)).present_others == others


@pytest.mark.parametrize(
    ("fields", "others"), [({"b": 6, "a": 5}, []), ({"a": 5}, []), ({"c": 5, "b": 6}, []), ({"a": 6, "b": 5}, ["s"])]
)
def test_fields_that_have_taken_the_name_of_another(fields, others):
    start, end = (TableColumn(2, "s", struct(**each)) for each in ({"a": 5, "b": 6}, fields))
    assert ChangedFiles((ID, start), (ID, end)).others == others


def test_an_end_has_other_names_than_the_present_table():
    old = TableColumn(2, "name", "string")
    found = ChangedFiles((ID, old), (ID,), present=(ID, TableColumn(2, "label", "string"), TableColumn(3, "x", "int")))
    assert (found.start_has_other_names, found.end_has_other_names) == (True, False)
    by_spark = ChangedFiles((ID, old), (ID, old), renamed=frozenset({2}))
    assert (by_spark.start_has_other_names, by_spark.end_has_other_names) == (True, True)
    assert not SAME.start_has_other_names


def test_columns_that_hide_a_metadata_column():
    hiding = (ID, TableColumn(2, "_FILE", "string"))
    assert ChangedFiles(hiding, hiding).reserved == ["_FILE"]
    assert SAME.reserved == []


@pytest.mark.parametrize(
    ("changed", "readable"),
    [
        (SAME, True),
        (replace(SAME, without_deletes=False), False),
        (replace(SAME, has_present_columns=False), False),
        (replace(SAME, start=(ID,)), False),
        (
            replace(SAME, start=(TableColumn(1, "_Change_Type", "int"),), end=(TableColumn(1, "_Change_Type", "int"),)),
            False,
        ),
    ],
)
def test_ranges_that_the_changelog_scan_can_read(changed, readable):
    assert changed.has_changelog is readable


def test_only_parquet_files_keep_row_ids():
    before, after, touched = (file(f"{name}.parquet") for name in "abc")
    difference = FileDifference((before,), (after,), (touched,))
    assert difference.all == (before, after, touched)
    assert difference.keep_row_ids
    assert not FileDifference((before,), (file("x.orc"),), ()).keep_row_ids
