"""A run without its ``with`` block."""

from contextlib import nullcontext

import pytest

from iceberg_incremental.errors import ConfigError
from iceberg_incremental.job.job import _Block


def test_methods_need_the_block():
    block = _Block(nullcontext("run"))
    with pytest.raises(ConfigError, match=r"`with job.run\(\) as run:`, and use run.append in the block"):
        block.append(None)
    with pytest.raises(AttributeError):
        block.other()
    with block as run:
        assert run == "run"
