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


def test_columns_are_names() -> None:
    assert options.columns("key", "`a`") == ["a"]
    assert options.columns("key", ("a", "b")) == ["a", "b"]
    assert options.columns("key", ()) == []
    for wrong in (0, None, ["a", 1], {"a": 1}, [""]):
        with pytest.raises(ConfigError, match=r"key is .*\n  Expected: the name of a column, or a list of names"):
            options.columns("key", wrong)
    with pytest.raises(ConfigError, match=r"column is None.\n  Expected: the name of a column"):
        options.column("column", None)


def test_one_or_more_tables() -> None:
    assert options.tables("changes_of", "lake.ops.o2") == options.tables("changes_of", ["lake.ops.o2"])
    with pytest.raises(ConfigError, match=r"changes_of is None.\n  Expected: the name of a table, or a list of names"):
        options.tables("changes_of", None)


def test_rows_are_a_dataframe() -> None:
    for wrong, found in (("select 1", "str"), (None, "NoneType"), (timedelta(1), "a timedelta of datetime")):
        with pytest.raises(ConfigError, match=rf"Expected: a DataFrame of PySpark.\n  Found: {found}\.\n"):
            options.require_frame("append", wrong)
