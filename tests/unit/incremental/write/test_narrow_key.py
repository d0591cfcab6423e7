"""Which one column the rows of a result are replaced by, where the key has several."""

from __future__ import annotations

import pytest

from iceberg_incremental.query.incremental_query import IncrementalQuery
from iceberg_incremental.write.narrow_key import most_selective
from iceberg_incremental.write.update_plan import Summary


def kept() -> IncrementalQuery:
    query = IncrementalQuery.__new__(IncrementalQuery)
    object.__setattr__(query, "key", ("name", "id", "day"))
    return query


@pytest.mark.parametrize(
    ("distinct", "chosen"),
    [
        ({"name": 2_020, "id": 1_980, "day": 30}, "id"),
        ({"name": 2_020, "id": 1_600, "day": 30}, "name"),
        ({"name": 1_990, "day": 1_995}, "day"),
        ({"name": 1_600, "id": 1_600, "day": 30}, None),
        ({}, None),
    ],
)
def test_a_column_that_may_tell_the_affected_rows_apart(distinct, chosen):
    found = Summary("keys", 2_000, False, ("string", "bigint", "date"), (), distinct)
    assert most_selective(kept(), found) == chosen
