"""The table of what releases of Iceberg can do, and how a commit's release is read."""

from __future__ import annotations

import pytest

from iceberg_incremental.table.commits import is_able, keeps_row_ids, keeps_sequence_numbers
from iceberg_incremental.table.releases import Capability, has, version_of
from tests.unit.incremental import histories as h

MOVES, MANIFESTS = Capability.MOVES_ROWS_WITH_IDS, Capability.REWRITES_MANIFESTS_WITH_IDS


@pytest.mark.parametrize(
    ("stated", "version"),
    [
        ("Apache Iceberg 1.12.0 (commit abc)", (1, 12, 0)),
        ("Apache Iceberg 1.10.2", (1, 10, 2)),
        ("Apache Iceberg 1.11", (1, 11, 0)),
        ("Apache Iceberg 1.11.0-amzn-0 (commit abc)", (1, 11, 0)),
        ("Apache Iceberg 1.10.1-3 (commit abc)", (1, 10, 1)),
        ("Apache Iceberg 1.11.0.7.3.1-12 (commit abc)", (1, 11, 0)),
        ("Apache Iceberg 1.12.0-SNAPSHOT (commit abc)", None),
        ("Apache Iceberg unspecified (commit abc)", None),
        ("PyIceberg 0.12.0", None),
        ("1.12.0", None),
        ("", None),
    ],
)
def test_the_version_of_a_commit(stated, version):
    assert version_of(stated) == version


@pytest.mark.parametrize(
    ("version", "moves", "manifests"),
    [
        (None, False, False),
        ((1, 9, 9), False, False),
        ((1, 10, 1), False, False),
        ((1, 10, 2), True, False),
        ((1, 10, 9), True, False),
        ((1, 11, 0), True, False),
        ((1, 11, 1), True, False),
        ((1, 12, 0), True, True),
        ((1, 13, 1), True, True),
        ((2, 0, 0), True, True),
    ],
)
def test_a_patch_release_has_only_what_its_minor_version_received(version, moves, manifests):
    assert (has(version, MOVES), has(version, MANIFESTS)) == (moves, manifests)


@pytest.mark.parametrize("capability", Capability)
def test_every_capability_is_in_the_table(capability):
    assert has((99, 0, 0), capability)
    assert not has((1, 9, 2), capability)
    assert not is_able(h.snapshot(1, None), capability)


MOVED = {"total-data-files": "2", "added-data-files": "1", "deleted-data-files": "1"}
COMPACTED = ("replace", MOVED)
ONLY_DELETES = ("replace", {"total-data-files": "2", "removed-dvs": "1", "added-dvs": "1"})
NO_FILES = ("replace", {"total-data-files": "2", "manifests-created": "1", "manifests-replaced": "2"})
NO_COUNTS: tuple[str, dict[str, str]] = ("replace", {})


@pytest.mark.parametrize(
    ("version", "kept"),
    [
        ("1.10.1", ()),
        ("1.10.2", (COMPACTED, ONLY_DELETES, ("overwrite", MOVED), ("delete", MOVED))),
        ("1.11.0-amzn-0", (COMPACTED, ONLY_DELETES, ("overwrite", MOVED), ("delete", MOVED))),
        ("1.12.0", (COMPACTED, ONLY_DELETES, NO_FILES, NO_COUNTS, ("overwrite", MOVED), ("delete", MOVED))),
    ],
)
def test_which_commits_keep_row_ids(version, kept):
    writer = {"engine-name": "spark", "engine-version": "4.0.2", "iceberg-version": f"Apache Iceberg {version}"}
    commits = (COMPACTED, ONLY_DELETES, NO_FILES, NO_COUNTS, ("overwrite", MOVED), ("delete", MOVED))
    found = [each for each in commits if keeps_row_ids(h.snapshot(2, 1, each[0], {**each[1], **writer}))]
    assert found == list(kept)


def test_older_writers_may_increase_sequence_numbers():
    """For example, Iceberg 1.11 does not read the sequence numbers of moved rows from ORC files."""
    spark = {"engine-name": "spark", "engine-version": "4.1.4"}
    for version, kept in (("1.10.1", False), ("1.11.0", False), ("1.12.0", True)):
        writer = {**spark, "iceberg-version": f"Apache Iceberg {version}"}
        assert keeps_sequence_numbers(h.snapshot(2, 1, "replace", {**MOVED, **writer})) is kept
        assert keeps_sequence_numbers(h.snapshot(2, 1, "append", {**h.APPEND, **writer}))


def test_older_writers_are_not_trusted_on_spark_3():
    for version, kept in (("1.11.0", False), ("1.12.0", True)):
        writer = {"engine-name": "spark", "engine-version": "3.5.6", "iceberg-version": f"Apache Iceberg {version}"}
        assert keeps_row_ids(h.snapshot(2, 1, "overwrite", {**MOVED, **writer})) is kept
