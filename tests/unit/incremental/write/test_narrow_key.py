"""Which one column the rows of a result are replaced by, where the key has several."""

from __future__ import annotations

import pytest

from iceberg_incremental.query.kept import KeptQuery
from iceberg_incremental.write.kept_plan import Summary
from iceberg_incremental.write.narrow_key import column_of


def kept(*alone: str) -> KeptQuery:
    query = KeptQuery.__new__(KeptQuery)
    for name, value in (("key", ("name", "id", "day")), ("alone", alone)):
        object.__setattr__(query, name, value)
    return query


FOUND = Summary("keys", 2_000, False, ("string", "bigint", "date"), ())


@pytest.mark.parametrize(
    ("alone", "counts", "chosen"),
    [
        (("name", "id", "day"), [2_000, 2_000, 30], "id"),
        (("name", "id", "day"), [2_000, 1_900, 30], "name"),
        (("name", "day"), [1_990, 30], "name"),
        (("name", "id", "day"), [1_970, 1_970, 30], None),
        (("day",), [30], None),
    ],
)
def test_a_column_that_tells_the_affected_rows_apart(alone, counts, chosen):
    assert column_of(kept(*alone), FOUND, counts) == chosen
