"""The errors of a source: its state, its history and its commits."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import HistoryBreakError, NotIcebergError, RewriteError, SourceError, SourceMissingError
from ..plan.breaks import Break
from ..plan.changes import Rewritten
from ..plan.policy import Cause, Policy
from ..plan.ranges import MAX_ADDITIONS
from ..plan.refusals import Incomparable, Refusal, TooManyAdditions, Unreadable, UnreadableOverwrite
from ..table.files import CHANGELOG_COLUMNS
from ..table.history import Snapshot, TableName
from . import metadata_errors
from .caller import by_caller, setting
from .wording import (
    described,
    full_refresh_way,
    reason_text,
    rebuild,
    rewrites,
    set_checkpoint_command,
    set_checkpoint_ways,
    short,
)

_SHOWN = 3
_REPLACES = ("job merges by a key", "job replaces rows by a key")
"""Descriptions of jobs that can process changed rows, for PySpark and for the command."""
_REBUILD_JOBS = ("run the jobs that read it with full_refresh=True", "capture again with --full-refresh")
_CORRECT = "create the table, or correct its name: catalog.namespace.table, as Iceberg's catalog spells them."


def source_missing(source: TableName, model: str) -> SourceMissingError:
    """The source does not exist."""
    in_dbt = (
        f"if dbt builds it, run `dbt build --select +{short(model)}`. If it is declared as a dbt source, create the "
        "table, or correct its name in the source's definition (database is the catalog, which Spark must know by "
        f"spark.sql.catalog.{source.catalog}; schema is the namespace)."
    )
    return SourceMissingError(
        f"The source {source} of {model} does not exist.",
        expected="an Iceberg table.",
        found=f"no table or view of this name in catalog '{source.catalog}'.",
        fix=by_caller(in_dbt, _CORRECT, _CORRECT),
    ).named("source-missing")


def not_iceberg(error: NotIcebergError, source: TableName, model: str) -> NotIcebergError:
    """The source is a view, or a table of another format."""
    where = by_caller("in an ip_ macro", "among the sources", "among the sources")
    instead = by_caller(", or call ref() or source() without the macro", "", "")
    return NotIcebergError(
        error.msg,
        found=f"{source} {where} of {model}.",
        fix=f"capture the Iceberg table that it is derived from{instead}.",
    ).named("not-iceberg")


def refused(
    found: Refusal,
    source: TableName,
    model: str,
    policy: Policy,
    *,
    changelog: bool = False,
    per_commit: bool = False,
) -> HistoryBreakError | RewriteError:
    """The error of a run that cannot read the changes of a source since its checkpoint.

    ``changelog``: whether the macro reads a changelog. ``per_commit``: whether it reads the changes of each commit.
    """
    match found:
        case Break(cause=Cause.EXPIRED) if per_commit:
            return commits_expired(found, source, model, may_rebuild=policy.may_rebuild)
        case Break():
            net = changelog or policy.nets_rewrites
            return history_break(found, source, model, may_rebuild=policy.may_rebuild, net=net)
        case Rewritten():
            return rewritten(found, source, model, may_rebuild=policy.may_rebuild)
        case Incomparable():
            return incomparable(found, source, model)
        case UnreadableOverwrite():
            return unreadable_overwrite(found.commit, source, model)
        case TooManyAdditions():
            return too_many_additions(source, model, found.found)


def history_break(
    broken: Break, source: TableName, model: str, *, may_rebuild: bool, net: bool = False
) -> HistoryBreakError:
    """The source's history does not lead from the checkpoint to the current snapshot. ``net``: for net changes."""
    name = short(model)
    where = "in its history" if broken.end is None else f"among the ancestors of {described(broken.end)}"
    known = ""
    if broken.ancestor is not None:
        known = f"; the common ancestor is {described(broken.ancestor)}"
    elif broken.oldest is not None:
        known = f"; the oldest known snapshot is {described(broken.oldest)}"
    ways = [full_refresh_way(name, may_rebuild)]
    if broken.cause is Cause.ROLLED_BACK and broken.ancestor is not None:
        if not net:  # with net changes, rows would keep the values from the undone snapshots
            ways += set_checkpoint_ways(
                "to keep the rows from the undone snapshots in the target, continue from the common ancestor",
                set_checkpoint_command(name, source, broken.ancestor.snapshot_id),
            )
    elif broken.end is not None:
        ways += set_checkpoint_ways(
            "if you know up to which snapshot the target has the source's rows, continue from there",
            set_checkpoint_command(name, source),
        )
    if may_rebuild:
        cause = broken.cause.value
        policy = by_caller(
            f"on_history_break: {{{cause}: full_refresh}}",
            f'on_history_break={{"{cause}": "full_refresh"}}',
            f"--on-history-break {cause}=full_refresh",
        )
        ways.append(f"to rebuild automatically in such cases, set {policy}")
    if broken.cause is Cause.EXPIRED:
        keep = by_caller(
            "set hold_source, for example to '14 days': a tag then keeps the snapshot of the checkpoint",
            "set hold_source, for example to timedelta(days=14): a tag then keeps the snapshot of the checkpoint",
            "keep the snapshots of the source for longer than the time between two runs",
        )
        ways.append(f"to prevent this, {_to_keep(broken, keep)}")
    return HistoryBreakError(
        f"The history of {source} does not lead from the checkpoint of {model} to the source's current snapshot "
        f"({broken.cause.value}).",
        expected=f"{described(broken.position)} {where}.",
        found=f"{_reason(broken)}{known}.",
        fix=ways,
    ).named("history-break")


def _reason(broken: Break) -> str:
    if broken.history.lacks_past and broken.cause is Cause.EXPIRED:
        return f"catalog {broken.history.table.catalog} returns only the current snapshot of this table"
    return reason_text(broken)


def _to_keep(broken: Break, otherwise: str) -> str:
    """The advice to keep the snapshots that the next run needs. ``otherwise``: for catalogs that return all of them."""
    return metadata_errors.other_catalog(broken.history) if broken.history.lacks_past else otherwise


def commits_expired(broken: Break, source: TableName, model: str, *, may_rebuild: bool) -> HistoryBreakError:
    """Snapshots that are needed to read the changes of each commit have expired."""
    known = "" if broken.oldest is None else f"; the oldest commit that can still be read is {described(broken.oldest)}"
    keep = (
        "keep the snapshots of the source for longer than the time between two runs, and set hold_source, for example "
        "to '14 days', so that a tag keeps the snapshot of the checkpoint"
    )
    return HistoryBreakError(
        f"The changes of each commit to {source} since {model} last read it are no longer known.",
        expected=f"{described(broken.position)} and all snapshots after it.",
        found=f"{_reason(broken)}{known}.",
        fix=[
            "to process all commits since the checkpoint as one commit, with their net changes, set per='range' in "
            "ip_changelog() for the next run. This needs the snapshot of the checkpoint",
            full_refresh_way(short(model), may_rebuild),
            f"to prevent this, {_to_keep(broken, keep)}",
        ],
    ).named("commits-expired")


def rewritten(found: Rewritten, source: TableName, model: str, *, may_rebuild: bool) -> RewriteError:
    """The range has commits that change or delete rows."""
    shown = ", ".join(f"{snapshot.operation} {described(snapshot)}" for snapshot in found.rewrites[:_SHOWN])
    more = len(found.rewrites) - _SHOWN
    reader = by_caller("model", "job", "job")
    ways = [
        full_refresh_way(short(model), may_rebuild),
        f"if the {by_caller('model merges by a unique_key', *_REPLACES)} (an append keeps the old versions of rows), "
        f"and deleted rows may remain, set {setting('on_source_rewrite', 'upserts')}",
        "if the target should apply updates and deletes, use "
        + by_caller(
            "ip_changelog() with incremental_strategy: apply_changes",
            "run.changelog() and run.apply_changes()",
            "--changelog, and update and delete rows according to _change_type",
        ),
        f"if the {reader} needs only appended rows, set {setting('on_source_rewrite', 'ignore')}",
    ]
    if may_rebuild:
        ways.append(f"to rebuild automatically in such cases, set {setting('on_source_rewrite', 'full_refresh')}")
    return RewriteError(
        f"{source} was rewritten since {model} last read it: {rewrites(found)}, which "
        f"{by_caller('ip_changes()', 'run.changes()', '--source')} cannot return as new rows.",
        expected=f"commits after {described(found.position)}, up to {described(found.end)}, that only add rows, or "
        "that provably change and delete only rows that were added in this range.",
        found=f"{shown}{f', and {more} more' if more > 0 else ''}.",
        fix=ways,
    ).named("rewritten")


def incomparable(found: Incomparable, source: TableName, model: str) -> RewriteError:
    """The table has columns that cannot be compared, or columns with reserved names."""
    names = ", ".join(name for name, _ in found.columns)
    listed = ", ".join(f"{name} ({type_})" for name, type_ in found.columns)
    said = {
        Unreadable.TYPES: f"columns whose values Spark cannot compare: {listed}",
        Unreadable.OWN_CHANGE_TYPE: f"a column {names}, which the changelog adds",
        Unreadable.METADATA_COLUMNS: f"columns with the names of Iceberg's metadata columns: {names}",
    }
    return RewriteError(
        f"{source} was rewritten since {model} last read it, and its net changes cannot be computed.",
        expected="columns with comparable types, and without names that the changelog or Iceberg reserves.",
        found=f"{said[found.why]}.",
        fix=f"{rebuild(model)}, or read the changes of a table without {names}.",
    ).named("incomparable")


def unreadable_overwrite(commit: Snapshot, source: TableName, model: str) -> RewriteError:
    """After a schema change, an overwrite that only added rows cannot be read."""
    return RewriteError(
        f"{model} cannot read the rows that {described(commit)} added to {source}.",
        expected="an append, or an overwrite that only added rows. After such an overwrite, the table must keep its "
        "columns, or have neither delete files nor columns with the names of Iceberg's changelog columns "
        f"({', '.join(CHANGELOG_COLUMNS)}).",
        found="an overwrite that only added rows, a later change of the columns, and delete files or a column with "
        "one of these names.",
        fix=f"{rebuild(model)}, or use {by_caller('ip_changelog()', 'run.changelog()', '--changelog')} or "
        f"{setting('on_source_rewrite', 'upserts')}.",
    ).named("unreadable-overwrite")


def row_ids_repeated(source: TableName) -> SourceError:
    """Rows of the source have the same row id or none."""
    rebuilt = by_caller("rebuild the models that read it (`dbt run --full-refresh`)", *_REBUILD_JOBS)
    return SourceError(
        f"The rows that were deleted from {source} cannot be determined.",
        expected="a unique row id (_row_id) for each row, as in Iceberg's format v3.",
        found="rows with the same row id or without one. Their files were written for another table, or added twice "
        "and changed by copy-on-write since, or a writer assigns wrong ids.",
        fix="replace the table with its own rows, which assigns new ids (create or replace table … as select * from "
        f"…), and {rebuilt}.",
    ).named("row-ids-repeated")


def foreign_types(source: TableName, types: Mapping[str, str], found: str) -> SourceError:
    """Spark cannot read a table, because it has a column of a type that Spark lacks. ``types``: by path."""
    listed = ", ".join(f"`{path}` ({type_})" for path, type_ in types.items())
    return SourceError(
        f"Spark reads no column of {source}, because it lacks the types of these: {listed}.",
        expected="types that Spark has.",
        found=found,
        fix="in the engine that writes the table, drop these columns, or give them other types.",
    ).named("foreign-types")


def too_many_additions(source: TableName, model: str, found: int) -> RewriteError:
    """The range has more separate overwrites that only added rows than one statement can read."""
    return RewriteError(
        f"{source} has {found} separate overwrites that only added rows since {model} last read it.",
        expected=f"at most {MAX_ADDITIONS}, which is the limit for one statement.",
        fix=f"{rebuild(model)}, and run it more often.",
    ).named("too-many-additions")
