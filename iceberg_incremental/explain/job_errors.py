"""The errors of jobs without dbt: how a job is set up, and how it writes what it has captured."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..errors import ConfigError, StagingError
from ..table.history import TableName
from .entries import indexed


@indexed
def not_a_table_name(what: str, text: str) -> ConfigError:
    """The name of a source or target does not have three parts."""
    return ConfigError(
        f"{what} is {text!r}.\n"
        "  Expected: a table as catalog.namespace.table, parts with dots in back-quotes.\n"
        "  To fix: name all three parts, as in lake.ops.flights."
    )


@indexed
def wrong_option(name: str, found: object, expected: Sequence[str]) -> ConfigError:
    """An option of a job has a value that it does not know."""
    return ConfigError(
        f"{name} is {found!r}.\n  Expected: {', '.join(map(repr, expected))}.\n  To fix: correct the option."
    )


@indexed
def nothing_written(job: str, sources: Collection[TableName]) -> StagingError:
    """A run has captured rows, and ended without writing any."""
    return StagingError(
        f"The run of {job} has captured {', '.join(sorted(map(str, sources)))}, and has written nothing.\n"
        "  Expected: one call of append, merge, overwrite_partitions or apply_changes; with the checkpoint alone, no "
        "later run would read the captured rows.\n"
        "  To fix: write the result, which may have no rows; or raise an exception to leave everything as it is."
    )


@indexed
def nothing_captured(job: str) -> ConfigError:
    """A run writes rows, and has captured nothing."""
    return ConfigError(
        f"The run of {job} writes rows, and has captured no source.\n"
        "  Expected: at least one of changes, changelog, signed_changes, changed_groups, as_of and value_range, called "
        "on the run.\n"
        "  To fix: read the sources by the run."
    )


@indexed
def written_twice(job: str, first: str, second: str) -> ConfigError:
    """A run writes by two calls."""
    return ConfigError(
        f"The run of {job} calls {second} after {first}.\n"
        "  Expected: one call that writes, since rows and checkpoint are one commit.\n"
        "  To fix: unite the DataFrames, or use two jobs with two targets."
    )


@indexed
def run_has_ended(job: str) -> ConfigError:
    """A run is used after its ``with`` block."""
    return ConfigError(
        f"The run of {job} has ended.\n"
        "  Expected: calls within the block of `with job.run() as run`.\n"
        "  To fix: begin another run, which continues from where this one has ended."
    )


@indexed
def not_partitioned(job: str, target: TableName) -> ConfigError:
    """Partitions are to be overwritten in a table that has none."""
    return ConfigError(
        f"{job} overwrites partitions of {target}, which is not partitioned.\n"
        "  Expected: a table with partitions: without them, each run would replace all rows by its new ones.\n"
        "  To fix: partition the table, by partitioned_by=[…] where the job creates it; or use append or merge."
    )


@indexed
def key_without_groups(job: str, key: Sequence[str], groups: Sequence[str]) -> ConfigError:
    """Rows of changed groups are merged by a key that does not contain the groups' columns, or written otherwise."""
    return ConfigError(
        f"{job} has read the changed groups of {', '.join(groups)}, and writes by "
        f"{'the key ' + ', '.join(key) if key else 'another way than merge'}.\n"
        "  Expected: merge(…, key=…) with a key that contains these columns, which replaces whole groups.\n"
        "  To fix: add them to the key."
    )
