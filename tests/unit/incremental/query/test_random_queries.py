"""Random nested queries equal their rebuild after each change. ``QUERY_NESTED``: their number."""

from __future__ import annotations

import os

import pytest

from .kept_tables import require_exact
from .random_queries import random_query

FIRST = int(os.environ.get("QUERY_SEED", "0"))
NESTED = int(os.environ.get("QUERY_NESTED", "40"))
ROUNDS = int(os.environ.get("QUERY_ROUNDS", "3"))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + NESTED))
def test_exact(seed: int) -> None:
    require_exact(random_query(seed), seed, ROUNDS)
