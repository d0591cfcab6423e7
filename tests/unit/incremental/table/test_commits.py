"""Every kind of commit that Iceberg writes, and what it did to the rows."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.incremental.table.commits import Effect, added, effect, total
from tests.unit.incremental import histories as h

CASES = [
    ("INSERT", "append", h.APPEND, Effect.APPEND),
    ("INSERT of no rows", "append", h.EMPTY_APPEND, Effect.NONE),
    ("append by a writer that counts nothing", "append", {}, Effect.APPEND),
    ("append with a count that is no number", "append", {"added-records": "many"}, Effect.APPEND),
    ("append with delete files", "append", {**h.APPEND, "added-delete-files": "1"}, Effect.REWRITE),
    ("MERGE or UPDATE, copy-on-write", "overwrite", h.OVERWRITE, Effect.REWRITE),
    ("MERGE or UPDATE, merge-on-read", "overwrite", {**h.ADDITION, "added-position-deletes": "1"}, Effect.REWRITE),
    ("MERGE that changes nothing", "overwrite", h.NO_CHANGE, Effect.NONE),
    ("INSERT OVERWRITE of an empty partition", "overwrite", h.ADDITION, Effect.ADDITION),
    ("overwrite by a writer that counts nothing", "overwrite", {}, Effect.REWRITE),
    ("overwrite with deletion vectors", "overwrite", {**h.ADDITION, "added-dvs": "1"}, Effect.REWRITE),
    ("overwrite that takes deletes back", "overwrite", {**h.ADDITION, "removed-delete-files": "1"}, Effect.REWRITE),
    ("overwrite with a broken count", "overwrite", {**h.ADDITION, "deleted-records": "?"}, Effect.REWRITE),
    ("DELETE of whole files", "delete", h.DELETE, Effect.REWRITE),
    ("DELETE, merge-on-read", "delete", h.POSITION_DELETE, Effect.REWRITE),
    ("DELETE that matches nothing", "delete", h.NO_CHANGE, Effect.NONE),
    ("rewrite_data_files", "replace", h.OVERWRITE, Effect.NONE),
    ("rewrite_manifests", "replace", {}, Effect.NONE),
    ("no operation (format v1)", None, h.APPEND, Effect.REWRITE),
    ("an operation of the future", "truncate", h.NO_CHANGE, Effect.REWRITE),
]


@pytest.mark.parametrize(("operation", "summary", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_effect(operation, summary, expected):
    assert effect(h.snapshot(2, 1, operation, summary)) is expected


def test_counts():
    commit = h.snapshot(2, 1, "append", {**h.APPEND, "total-data-files": "7", "total-files-size": "9000"})
    assert added(commit) == (2, 10, 1000)
    assert total(commit) == (7, 10, 9000)
    assert added(h.snapshot(2, 1, "append", {})) == total(h.snapshot(2, 1, "append", {})) == (0, 0, 0)
