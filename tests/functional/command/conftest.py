from __future__ import annotations

import pytest

from ..incremental.conftest import outside, shop  # noqa: F401 (fixtures)
from .lake import Lake


@pytest.fixture
def lake(outside, warehouse, tmp_path):  # noqa: F811
    return Lake(outside.session, warehouse, tmp_path)
