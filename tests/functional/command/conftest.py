from __future__ import annotations

import pytest

from ..incremental.conftest import shop  # noqa: F401 (a fixture)
from .lake import Lake


@pytest.fixture
def lake(outside, warehouse, tmp_path):
    return Lake(outside.session, warehouse, tmp_path)
