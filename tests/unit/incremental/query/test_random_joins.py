"""Random joins equal their rebuild after each change, by each key. ``QUERY_JOINS``: how many; ``QUERY_SEED``: which."""

from __future__ import annotations

import os

import pytest

from iceberg_incremental.query.matching import Matching

from .kept_tables import Tables
from .random_joins import random_join

FIRST = int(os.environ.get("QUERY_SEED", "0"))
JOINS = int(os.environ.get("QUERY_JOINS", "60"))
ROUNDS = int(os.environ.get("QUERY_ROUNDS", "3"))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + JOINS))
def test_exact(seed: int) -> None:
    sql, tables = random_join(seed), Tables(seed)
    query = tables.kept(sql)
    narrower = query.narrower()
    for number in range(ROUNDS):
        tables.change()
        expected = tables.fetch(tables.on(sql, "new"))
        for each in (query, *(narrower if number == 0 else ())):
            assert tables.update_method(each) == expected, f"round {number}, by {each.key}: {sql}"


def test_forgotten_matches_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of a relation that is left out affects nothing, which this query shows."""
    monkeypatch.setattr(Matching, "_matched_sql", lambda *_: None)
    with pytest.raises(AssertionError, match="by "):
        test_exact(13)
