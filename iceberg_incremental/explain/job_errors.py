"""The errors of jobs without dbt: wrong options and calls, and the command ``iceberg-incremental``."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..errors import ConcurrentRunError, ConfigError, MetadataAccessError, NotIcebergError, OutOfSyncError, StagingError
from ..table.history import History, TableName
from .wording import described


def not_a_table_name(what: str, text: object) -> ConfigError:
    """The name of a source or target does not have three parts."""
    return ConfigError(
        f"{what} is {text!r}.",
        expected="a table as catalog.namespace.table, with backticks around parts that contain dots.",
        fix="write all three parts, for example lake.ops.flights.",
    ).named("not-a-table-name")


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


def unknown_catalog(catalog: str) -> MetadataAccessError:
    """Neither the arguments nor PyIceberg's configuration have the properties of a catalog."""
    return MetadataAccessError(
        f"PyIceberg has no configuration for catalog {catalog}.",
        expected="its properties in .pyiceberg.yaml, in environment variables PYICEBERG_CATALOG__…, or as arguments.",
        fix=f"pass its properties, for example --catalog-property {catalog}.type=rest --catalog-property "
        f"{catalog}.uri=https://…",
    ).named("unknown-catalog")


def read_only_catalog(table: TableName, kind: str) -> ConfigError:
    """PyIceberg can read the target's catalog, but cannot commit to it."""
    return ConfigError(
        f"{table} is in a {kind} catalog, which iceberg-incremental cannot commit to.",
        expected="a catalog that PyIceberg commits to, such as rest or sql.",
        fix="keep the target in another catalog, or write it with a PySpark job or a dbt model.",
    ).named("read-only-catalog")


def format_not_written(table: TableName, version: int, kind: str) -> ConfigError:
    """PyIceberg cannot write the metadata of the target's format version."""
    return ConfigError(
        f"{table} has format v{version}, whose metadata PyIceberg cannot write.",
        expected=f"format v2 or lower in a {kind} catalog; or v3 in a rest catalog, whose server writes the metadata.",
        fix="create the target with format-version 2, or write it with a PySpark job or a dbt model.",
    ).named("format-not-written")


def job_target_missing(target: TableName) -> ConfigError:
    """The target of a job does not exist."""
    return ConfigError(
        f"The target {target} does not exist.",
        expected="an Iceberg table, without rows before the first run.",
        fix="create the table with the columns of the job's result, then call capture again.",
    ).named("job-target-missing")


def target_not_iceberg(error: NotIcebergError, target: TableName) -> NotIcebergError:
    """The target of a job is a view or a table of another format."""
    return NotIcebergError(
        f"The target {target} is not an Iceberg table.",
        expected="an Iceberg table, without rows before the first run.",
        found=error.msg,
        fix="use another target, or replace this one with an Iceberg table.",
    ).named("target-not-iceberg")


def reads_its_target(target: TableName) -> ConfigError:
    """A job has its target as a source."""
    return ConfigError(
        f"{target} is both a source and the target of the job.",
        expected="sources that the job does not write.",
        fix="choose another source or target. The job may read the target itself, without capturing it.",
    ).named("reads-its-target")


def unreadable_run(where: str, why: str) -> ConfigError:
    """The input of a command is not a captured run."""
    return ConfigError(
        f"{where} does not contain a captured run.",
        expected="the JSON output of `iceberg-incremental capture` of this version.",
        found=f"{why}.",
        fix="pass the whole output of capture with --run, or call capture again.",
    ).named("unreadable-run")


def main_moved(history: History, name: str, captured_at: int | None) -> ConcurrentRunError:
    """Another writer has committed to the target since the capture."""
    found = "no snapshot" if captured_at is None else f"snapshot {captured_at}"
    return ConcurrentRunError(
        f"Another writer has committed to {history.table} since the run of {name} was captured.",
        expected=f"{found} at the head of main, where the run's branch starts.",
        found=f"{described(history.current)}.",
        state="This run published nothing.",
        fix="call capture again, and write the job's rows to the new branch. Pause maintenance and other writers "
        "until the commit.",
    ).named("main-moved")


def target_replaced(target: TableName, name: str) -> ConcurrentRunError:
    """The target was dropped and created again since the capture."""
    return ConcurrentRunError(
        f"{target} was dropped and created again since the run of {name} was captured.",
        expected="the table with the UUID that it had at the capture.",
        found="a different table with this name, or a table in a different catalog with the same name.",
        state="This run published nothing.",
        fix="call capture again, and write the job's rows to the new branch.",
    ).named("target-replaced")


def not_from_capture(history: History, name: str, branch: str) -> StagingError:
    """The branch of a run does not start at the snapshot where ``capture`` created it."""
    return StagingError(
        f"Branch {branch} of {history.table} is not the branch that the capture of {name} created.",
        expected="commits on top of the snapshot at which capture created the branch.",
        found="a branch with another history: the job or its engine has created it again, or an expiry has removed "
        "some of its commits.",
        state="Nothing was published.",
        fix="call `iceberg-incremental abort`, and capture again. The job must write to the branch without creating "
        "or replacing it.",
    ).named("not-from-capture")


def nothing_staged(history: History, name: str, branch: str) -> StagingError:
    """A run has captured rows, but its branch has no new rows."""
    return StagingError(
        f"The run of {name} has captured rows, but branch {branch} of {history.table} has no new commit.",
        expected="the job's rows on the branch. If only the checkpoint were published, no later run would read the "
        "captured rows.",
        found="a branch without changes since the capture.",
        fix="write the rows to the branch, and commit again. If the job has no result rows, commit with --no-rows.",
    ).named("nothing-staged")


def written_elsewhere(history: History, name: str, branch: str, captured_at: int | None) -> StagingError:
    """Main has a new commit and the run's branch has none."""
    before = "no snapshot" if captured_at is None else f"snapshot {captured_at}"
    return StagingError(
        f"The run of {name} has captured rows, but the new commit of {history.table} is on main instead of branch "
        f"{branch}.",
        expected=f"the job's rows on the branch, and {before} at the head of main.",
        found=f"{described(history.current)} at the head of main.",
        state="This run published nothing.",
        fix="if the job wrote to main, undo this commit first, because the next run reads the same rows again: roll "
        f"{history.table} back to {before}. Then call capture again, and write to its branch. If another writer "
        "committed, call capture again.",
    ).named("written-elsewhere")


def rows_staged(history: History, name: str, branch: str) -> StagingError:
    """A run is committed with ``--no-rows``, but its branch has rows."""
    return StagingError(
        f"The run of {name} is committed with --no-rows, but branch {branch} of {history.table} has new commits.",
        expected="a branch without changes since the capture.",
        found=f"{described(history.snapshots.get(history.refs[branch]))} at its head.",
        fix="commit without --no-rows to publish the rows, or abort the run.",
    ).named("rows-staged")


def columns_changed(target: TableName, name: str) -> OutOfSyncError:
    """The columns of the target changed between capture and commit."""
    return OutOfSyncError(
        f"The columns of {target} have changed since the run of {name} was captured.",
        expected="the schema that the table had at the capture, since --on-schema-change is fail.",
        found="another schema.",
        state="Nothing was published.",
        fix="if the job alters its table, capture with --on-schema-change ignore; otherwise abort, and capture again.",
    ).named("columns-changed")
