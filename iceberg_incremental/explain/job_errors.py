"""The errors of jobs without dbt: wrong options, and wrong calls that write rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..errors import ConfigError, StagingError
from ..table.history import TableName


def not_a_table_name(what: str, text: object) -> ConfigError:
    """The name of a source or target does not have three parts."""
    return ConfigError(
        f"{what} is {text!r}.",
        expected="a table as catalog.namespace.table, with backticks around parts that contain dots.",
        fix="write all three parts, for example lake.ops.flights.",
    ).named("not-a-table-name")


def wrong_option(name: str, found: object, expected: Sequence[str]) -> ConfigError:
    """An option of a job has an unknown value."""
    return ConfigError(
        f"{name} is {found!r}.", expected=f"{', '.join(map(repr, expected))}.", fix="correct the option."
    ).named("wrong-option")


def wrong_argument(name: str, found: object, expected: str) -> ConfigError:
    """An argument of a job or of its run has a value of a wrong kind."""
    return ConfigError(
        f"{name} is {found!r}.",
        expected=f"{expected}.",
        found=f"a value of the type {type(found).__name__}.",
        fix="correct the argument.",
    ).named("wrong-argument")


def not_a_frame(method: str, found: type) -> ConfigError:
    """A run is to write something other than a DataFrame of PySpark."""
    package = found.__module__.partition(".")[0]
    kind = found.__name__ if package == "builtins" else f"a {found.__name__} of {package}"
    return ConfigError(
        f"{method}() was called without a DataFrame.",
        expected="a DataFrame of PySpark.",
        found=f"{kind}.",
        fix="pass rows as spark.sql(…) for a query, or as spark.createDataFrame(…) for rows in Python.",
    ).named("not-a-frame")


def nothing_written(job: str, sources: Collection[TableName]) -> StagingError:
    """A run captured rows, but ended without writing any."""
    return StagingError(
        f"The run of {job} has captured {', '.join(sorted(map(str, sources)))}, but has written nothing.",
        expected="one call of append, merge, overwrite_partitions or apply_changes. If only the checkpoint were "
        "published, no later run would read the captured rows.",
        fix="write the result, even if it has no rows; or raise an exception to publish nothing.",
    ).named("nothing-written")


def nothing_captured(job: str) -> ConfigError:
    """A run writes rows, but has captured nothing."""
    return ConfigError(
        f"The run of {job} writes rows, but has captured no source.",
        expected="at least one of changes, changelog, signed_changes, changed_groups, as_of and value_range, called "
        "on the run.",
        fix="read the sources with a method of the run, such as run.changes('…').",
    ).named("nothing-captured")


def written_twice(job: str, first: str, second: str) -> ConfigError:
    """A run calls two methods that write."""
    return ConfigError(
        f"The run of {job} calls {second} after {first}.",
        expected="one call that writes, since rows and checkpoint are published in one commit.",
        fix="combine the DataFrames with union(), or use two jobs with two targets.",
    ).named("written-twice")


def run_has_ended(job: str) -> ConfigError:
    """A run is used after its ``with`` block."""
    return ConfigError(
        f"The run of {job} has ended.",
        expected="calls within the block of `with job.run() as run`.",
        fix="start another run. It continues where this run ended.",
    ).named("run-has-ended")


def run_without_block(name: str) -> ConfigError:
    """A method of a run is called outside of a ``with`` block."""
    return ConfigError(
        f"{name} was used on job.run() without a `with` block.",
        expected="`with job.run() as run:`. The run begins with this block, and publishes at its end.",
        fix=f"write `with job.run() as run:`, and use run.{name} in the block.",
    ).named("run-without-block")


def not_partitioned(job: str, target: TableName) -> ConfigError:
    """A job overwrites partitions of a table that is not partitioned."""
    return ConfigError(
        f"{job} overwrites partitions of {target}, which is not partitioned.",
        expected="a table with partitions. Without them, each run would replace all rows with its new rows.",
        fix="partition the table, with partitioned_by=[…] if the job creates it; or use append or merge.",
    ).named("not-partitioned")


def key_without_groups(job: str, key: Sequence[str], groups: Sequence[str]) -> ConfigError:
    """Rows of changed groups are not merged by a key that contains the groups' columns."""
    return ConfigError(
        f"{job} reads the changed groups of {', '.join(groups)}, but "
        f"{'merges by the key ' + ', '.join(key) if key else 'does not merge its rows'}.",
        expected="merge(…, key=…) with a key that contains these columns, which replaces whole groups.",
        fix=f"call merge, and add {', '.join(groups)} to the key.",
    ).named("key-without-groups")
