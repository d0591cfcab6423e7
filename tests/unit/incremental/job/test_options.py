"""Arguments of jobs and their runs: which values are accepted, and what the errors say."""

from datetime import timedelta
from inspect import signature

import pytest

from iceberg_incremental.errors import ConfigError
from iceberg_incremental.job import options
from iceberg_incremental.job.job import Job
from iceberg_incremental.plan.configs import FLAG, ModelConfigs
from iceberg_incremental.plan.policy import Policy
from iceberg_incremental.table.history import TableName


def hold(value: object) -> timedelta | None:
    return options.configs("job.lake.ops.o2", hold_source=value).hold_source


def test_the_options_of_a_job_that_are_configs_have_their_defaults() -> None:
    defaults = {each.name: each.default for each in signature(Job).parameters.values()}
    shared = {name: config for name, config in ModelConfigs.table().items() if name in defaults}
    assert len(shared) == 7
    assert {name: defaults[name] for name in shared} == {
        name: config.kind.choices[0] if config.kind.choices else None for name, config in shared.items()
    } | {"on_schema_change": "fail"}
    assert options.configs("job.lake.ops.o2").policy() == Policy()
    assert options.configs("job.lake.ops.o2", on_schema_change=None).on_schema_change == "fail"


def test_all_wrong_options_are_reported_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        options.configs("job.lake.ops.o2", on_source_rewrite="upsert", max_bytes_per_run=0, hold_source=None)
    assert caught.value.what == (
        "The configuration of job.lake.ops.o2 is not valid:\n"
        "  - on_source_rewrite is 'upsert': expected one of 'fail', 'upserts', 'ignore', 'full_refresh'\n"
        "  - max_bytes_per_run is 0: expected a whole number above 0, or omit it for no limit"
    )


def test_only_booleans_are_flags() -> None:
    assert options.accepted("full_refresh", True, FLAG)
    assert not options.accepted("full_refresh", False, FLAG)
    for wrong in ("false", 0, None):
        with pytest.raises(ConfigError, match=r"full_refresh is .*\n  Expected: true or false"):
            options.accepted("full_refresh", wrong, FLAG)


def test_hold_source_is_a_duration() -> None:
    assert hold(None) is None
    assert hold("14 days") == hold(timedelta(days=14)) == timedelta(days=14)
    for wrong in ("soon", 14, timedelta(), True):
        with pytest.raises(ConfigError, match=r"hold_source is .*: expected a duration above 0, such as '14 days'"):
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
        with pytest.raises(ConfigError, match=r"key is .*\n  Expected: a column name, or a list of column names"):
            options.columns("key", wrong)
    with pytest.raises(ConfigError, match=r"column is None.\n  Expected: a column name"):
        options.column("column", None)


def test_one_or_more_tables() -> None:
    assert options.tables("changes_of", "lake.ops.o2") == options.tables("changes_of", ["lake.ops.o2"])
    with pytest.raises(ConfigError, match=r"changes_of is None.\n  Expected: the name of a table, or a list of names"):
        options.tables("changes_of", None)


def test_rows_are_a_dataframe() -> None:
    for wrong, found in (("select 1", "str"), (None, "NoneType"), (timedelta(1), "a timedelta of datetime")):
        with pytest.raises(ConfigError, match=rf"Expected: a DataFrame of PySpark.\n  Found: {found}\.\n"):
            options.require_frame("append", wrong)
