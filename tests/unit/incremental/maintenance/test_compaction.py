"""Which files are rewritten, based on size, deleted rows, partition and Iceberg's own rules."""

from __future__ import annotations

import pytest

from iceberg_incremental.maintenance.compaction import (
    MIN_FILES,
    MIN_MANIFESTS,
    deleted_rows,
    plan_data,
    plan_deletes,
    plan_manifests,
)
from iceberg_incremental.table.files import Content, LiveFile, LiveFiles, ManifestSize

TARGET = {"write.target-file-size-bytes": "1000", "write.delete.target-file-size-bytes": "1000"}
SMALL, GOOD, LARGE = 100, 250, 1801


def data(name, size=SMALL, partition=1, spec_id=0, records=10, manifest="m"):
    return LiveFile(Content.DATA, name, spec_id, partition, records, size, manifest=manifest)


def deletes(of, records, name=None, content=Content.POSITION_DELETES, partition=1):
    return LiveFile(content, name or f"d-{of}-{records}", 0, partition, records, 10, of, "d")


def live(*files, manifests=None):
    return LiveFiles(tuple(files), manifests or {}, 0)


def several(number, **given):
    return [data(f"{given}{n}", **given) for n in range(number)]


@pytest.mark.parametrize(
    ("files", "before", "after"),
    [
        (several(MIN_FILES - 1), 0, 0),
        (several(MIN_FILES), 5, 1),
        (several(MIN_FILES, size=GOOD), 0, 0),
        ([*several(4, partition=1), *several(4, partition=2)], 0, 0),
        ([*several(5, partition=1), *several(6, partition=2)], 11, 2),
        ([*several(5), *several(9, size=GOOD)], 5, 1),
        ([data("only", size=LARGE)], 1, 2),
        ([data("large", size=2400), data("small")], 2, 3),
        (several(5, size=249), 5, 2),
        (several(11), 11, 2),
        (several(21), 21, 2),  # the remaining 100 bytes are added to the two files
        (several(23), 23, 3),
        ([data("large", size=1850), *several(3, size=200)], 4, 3),
        (several(5, spec_id=7, partition=1) + several(5, spec_id=6, partition=2), 10, 1),
    ],
)
def test_data_files_by_size(files, before, after):
    found = plan_data(live(*files), TARGET)
    assert (before, after) == ((0, 0) if found is None else (found.files, found.files_after))


def test_files_of_earlier_specs_are_one_group():
    files = several(3, spec_id=7, partition=1) + several(2, spec_id=6, partition=2)
    found = plan_data(live(*files), TARGET)
    assert (found.files, found.partitions, found.files_after) == (5, 1, 1)


@pytest.mark.parametrize(("records", "rewritten"), [(2, False), (3, True), (10, True)])
@pytest.mark.parametrize("content", [Content.POSITION_DELETES, Content.DELETION_VECTOR])
def test_data_files_by_deleted_rows(records, rewritten, content):
    found = plan_data(live(data("a", GOOD), data("b", GOOD), deletes("a", records, content=content)), TARGET)
    assert (found is not None) is rewritten
    if found is not None:
        assert (found.files, found.deleted, found.rows_deleted) == (1, 1, records)
        assert found.files_after == (0 if records == 10 else 1)
        assert found.paths == {"a"}


def test_a_deletion_vector_replaces_earlier_delete_files():
    files = (deletes("a", 2, "x"), deletes("a", 3, "y"), deletes("b", 1), deletes(None, 9))
    assert deleted_rows(live(*files)) == {"a": 5, "b": 1}
    assert deleted_rows(live(*files, deletes("a", 5, content=Content.DELETION_VECTOR))) == {"a": 5, "b": 1}


def test_equality_deletes_and_deletes_of_several_files_do_not_count():
    files = (deletes(None, 10), deletes(None, 10, content=Content.EQUALITY_DELETES))
    assert plan_data(live(data("a", GOOD), *files), TARGET) is None


def test_position_deletes_are_merged_if_few_files_remain():
    """Spark writes one delete file for each data file with deleted rows."""
    of_one = [deletes("a", n) for n in range(1, 6)]
    assert plan_deletes(live(data("a"), *of_one[:4]), TARGET) is None
    found = plan_deletes(live(data("a"), *of_one), TARGET)
    assert (found.files, found.files_after, found.dangling) == (5, 1, 0)
    of_each = [deletes(name, 1) for name in "abcde"]
    present = [data(name) for name in "abcde"]
    assert plan_deletes(live(*present, *of_each), TARGET) is None
    found = plan_deletes(live(*present[3:], *of_each), TARGET)
    assert (found.files, found.files_after, found.dangling) == (5, 2, 3)
    assert plan_deletes(live(*present[3:], *of_each), TARGET, rewritten={"d"}) is None


def test_manifests_are_merged_if_few_remain():
    def sizes(number, size=100, spec_id=0, *, lists_deletes=False):
        return {
            f"{size}-{spec_id}-{lists_deletes}-{n}": ManifestSize(spec_id, size, lists_deletes) for n in range(number)
        }

    target = {"commit.manifest.target-size-bytes": "1000"}

    def found(*manifests, files=(), rewritten=()):
        known = {path: size for each in manifests for path, size in each.items()}
        return plan_manifests(live(*files, manifests=known), target, rewritten)

    assert found(sizes(MIN_MANIFESTS - 1)) is None
    assert (found(sizes(MIN_MANIFESTS)).manifests, found(sizes(MIN_MANIFESTS)).manifests_after) == (20, 2)
    assert found(sizes(MIN_MANIFESTS, size=300)) is None
    assert found(sizes(15), sizes(15, spec_id=1)) is None
    both = found(sizes(15), sizes(5, lists_deletes=True))
    assert (both.manifests, both.manifests_after) == (20, 3)
    names = sizes(20)
    files = [data(name, manifest=name) for name in names]
    assert found(names, files=files, rewritten=list(names)[:10]) is None
    assert found(names, files=files).manifests == 20
