"""Random joins equal their rebuild after each change. ``QUERY_JOINS``: their number; ``QUERY_SEED``: the first seed."""

from __future__ import annotations

import os

import pytest

from .kept_tables import require_exact
from .random_joins import random_join

FIRST = int(os.environ.get("QUERY_SEED", "0"))
JOINS = int(os.environ.get("QUERY_JOINS", "60"))
ROUNDS = int(os.environ.get("QUERY_ROUNDS", "3"))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + JOINS))
def test_exact(seed: int) -> None:
    require_exact(random_join(seed), seed, ROUNDS)
