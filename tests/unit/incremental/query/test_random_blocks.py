"""Random joins of groups and partitions equal one of their rebuilds after each change.

In every second one, the orders of windows stay incomplete.

``QUERY_BLOCKS``: their number; ``QUERY_SEED``: the first seed.
"""

from __future__ import annotations

import os

import pytest

from .random_blocks import random_blocks
from .test_choices import Choosing, leave_incomplete

FIRST = int(os.environ.get("QUERY_SEED", "0"))
BLOCKS = int(os.environ.get("QUERY_BLOCKS", "60"))
ROUNDS = int(os.environ.get("QUERY_ROUNDS", "3"))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + BLOCKS))
def test_exact(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed % 2:
        leave_incomplete(monkeypatch)
    sql = random_blocks(seed)
    tables = Choosing(seed)
    query = tables.kept(sql)
    narrower = query.narrower()
    tables.build(query)
    for number in range(ROUNDS):
        tables.change()
        if not query.chooses:
            expected = tables.fetch(tables.all_rows(query))
            for each in (query, *(narrower if number == 0 else ())):
                assert tables.update_method(each) == expected, f"round {number}, by {each.key}: {sql}"
        else:
            tables.update(query)
            assert not query.key or not tables.impossible(query), f"round {number}, by {query.key}: {sql}"
