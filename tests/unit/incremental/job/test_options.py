"""Arguments of jobs and their runs: which values are accepted, and what the errors say."""

from datetime import timedelta

import pytest

from iceberg_incremental.errors import ConfigError
from iceberg_incremental.job import options
from iceberg_incremental.plan.policy import Policy
from iceberg_incremental.table.history import TableName


def hold(value: object) -> Policy:
    return options.policy("fail", None, "fail", None, None, value)  # type: ignore[arg-type]


def test_only_booleans_are_flags() -> None:
    assert options.flag("full_refresh", True)
    assert not options.flag("full_refresh", False)
    for wrong in ("false", 0, None):
        with pytest.raises(ConfigError, match=r"full_refresh is .*\n  Expected: true or false"):
            options.flag("full_refresh", wrong)


def test_hold_source_is_a_duration() -> None:
    assert hold(None).hold is None
    assert hold("14 days").hold == hold(timedelta(days=14)).hold == timedelta(days=14)
    for wrong in ("soon", 14, timedelta(), True):
        with pytest.raises(ConfigError, match="Expected: a duration above 0: a timedelta, or a text such as '14 days'"):
            hold(wrong)


def test_sources_are_a_list() -> None:
    assert options.sources(["lake.ops.o2"]) == [TableName("lake", "ops", "o2")]
    with pytest.raises(ConfigError, match=r"Expected: a list of tables, such as \['lake.ops.o2'\]"):
        options.sources("lake.ops.o2")
    with pytest.raises(ConfigError, match="sources is None"):
        options.sources(None)
    with pytest.raises(ConfigError, match="source is 7"):
        options.sources([7])
