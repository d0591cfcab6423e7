"""The errors of a source: its state, its history, and what was committed to it."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import HistoryBreakError, NotIcebergError, RewriteError, SourceMissingError
from ..expose.net import CHANGE_TYPE
from ..expose.projection import is_comparable
from ..plan.changes import Break, Rewritten
from ..plan.policy import Cause
from ..table.changed_files import CHANGELOG_COLUMNS, METADATA_COLUMNS, TableColumn
from ..table.history import Snapshot, TableName
from .wording import described, full_refresh_way, numbered, position_text, rewrites, set_checkpoint_command, short

_SHOWN = 3


def source_missing(source: TableName, model: str) -> SourceMissingError:
    """The source does not exist."""
    return SourceMissingError(
        f"The source {source} of {model} does not exist.\n"
        "  Expected: an Iceberg table.\n"
        f"  Found: no table or view of this name in catalog '{source.catalog}'.\n"
        "  What to do: create the table, or correct the name (database is the catalog, schema the namespace) in the "
        "source's definition."
    )


def not_iceberg(error: NotIcebergError, source: TableName, model: str) -> NotIcebergError:
    """The source is a view, or a table of another format."""
    return NotIcebergError(
        f"{error.msg}\n"
        f"  Found: {source} in an ip_ macro of {model}.\n"
        "  What to do: capture the Iceberg table that it comes from, or call ref() or source() without the macro."
    )


def history_break(
    broken: Break, source: TableName, model: str, *, may_rebuild: bool, net: bool = False
) -> HistoryBreakError:
    """The source's history does not lead from the checkpoint to its head. ``net``: the model reads net changes."""
    name = short(model)
    lines = [
        f"The history of {source} does not lead from the checkpoint of {model} to its head ({broken.cause.value}).",
        f"  Expected: {position_text(broken.position)} "
        + ("in its history." if broken.end is None else f"among the ancestors of {described(broken.end)}."),
        f"  Found: {broken.reason}"
        + ("" if broken.ancestor is None else f"; the common ancestor is {described(broken.ancestor)}")
        + (
            ""
            if broken.ancestor is not None or broken.oldest is None
            else f"; the oldest snapshot that is still known is {described(broken.oldest)}"
        )
        + ".",
        "  What to do, one of:",
    ]
    ways = [full_refresh_way(name, may_rebuild)]
    if broken.cause is Cause.ROLLED_BACK and broken.ancestor is not None:
        if not net:  # else rows that the undone snapshots changed would stay as they were in these
            ways.append(
                "if the target shall keep what came from the undone snapshots, go on from the common ancestor: "
                + set_checkpoint_command(name, source, broken.ancestor.snapshot_id)
            )
    elif broken.end is not None:
        ways.append(
            "if you know up to which snapshot the target holds the source's rows, go on from there: "
            + set_checkpoint_command(name, source, None)
        )
    if may_rebuild:
        ways.append(f"to rebuild by itself in such a case: on_history_break: {{{broken.cause.value}: full_refresh}}")
    return HistoryBreakError("\n".join([*lines, *numbered(ways)]))


def rewritten(found: Rewritten, source: TableName, model: str, *, may_rebuild: bool) -> RewriteError:
    """The range holds commits that change or delete rows."""
    shown = ", ".join(f"{snapshot.operation} {described(snapshot)}" for snapshot in found.rewrites[:_SHOWN])
    more = len(found.rewrites) - _SHOWN
    ways = [
        full_refresh_way(short(model), may_rebuild),
        "if the model can take up rows that changed, and may keep those that were deleted: on_source_rewrite: upserts",
        "if its target shall follow updates and deletes: ip_changelog() with incremental_strategy: apply_changes",
        "if the model needs only rows that were appended: on_source_rewrite: ignore",
    ]
    if may_rebuild:
        ways.append("to rebuild by itself in such a case: on_source_rewrite: full_refresh")
    return RewriteError(
        "\n".join(
            [
                f"{source} was rewritten since {model} last read it: {rewrites(found)}, "
                "which ip_changes() cannot show as new rows.",
                f"  Expected: commits that only add rows after {position_text(found.position)}, up to "
                f"{described(found.end)}.",
                f"  Found: {shown}{f', and {more} more' if more > 0 else ''}.",
                "  What to do, one of:",
                *numbered(ways),
            ]
        )
    )


def incomparable(
    columns: Sequence[TableColumn], source: TableName, model: str, *, changelog: bool = False
) -> RewriteError | None:
    """A column of the table cannot be compared; None where there is none such.

    ``changelog``: also one that has the name of the column which ``ip_changelog`` adds.
    """
    types = [column for column in columns if not is_comparable(column.type)]
    if types:
        found = ", ".join(f"{column.name} ({column.type})" for column in types)
        found = f"columns whose values Spark cannot compare: {found}"
    elif changelog and any(column.name.lower() == CHANGE_TYPE for column in columns):
        found = f"a column {CHANGE_TYPE} of its own"
    elif reserved := [column.name for column in columns if column.name.lower() in METADATA_COLUMNS]:
        found = f"columns named as Iceberg's metadata columns, by which rows are found: {', '.join(reserved)}"
    else:
        return None
    return RewriteError(
        f"{source} was rewritten since {model} last read it, and its net changes cannot be told.\n"
        "  Expected: columns of types that can be compared, and of other names than the changelog's and Iceberg's.\n"
        f"  Found: {found}.\n"
        f"  What to do: rebuild the model with `dbt run --full-refresh --select {short(model)}`, or read the changes"
        " of a table without these columns."
    )


def addition_beside_deletes(commit: Snapshot, source: TableName, model: str) -> RewriteError:
    """An INSERT OVERWRITE of an empty partition cannot be read, for what else is in the table."""
    return RewriteError(
        f"What {described(commit)} added to {source} cannot be read by {model}.\n"
        "  Expected: an append; or an overwrite that only added rows, in a table with the columns that it had then, or "
        "else without delete files and without columns named as those of Iceberg's changelog "
        f"({', '.join(CHANGELOG_COLUMNS)}).\n"
        "  Found: an overwrite that added rows, columns that were changed since, and delete files or such a name.\n"
        f"  What to do: rebuild the model with `dbt run --full-refresh --select {short(model)}`, or use "
        "ip_changelog() or on_source_rewrite: upserts."
    )


def too_many_additions(source: TableName, model: str, found: int, limit: int) -> RewriteError:
    """The range holds more separate overwrites that only added rows than one statement can name."""
    return RewriteError(
        f"{source} has {found} separate overwrites that only added rows since {model} last read it.\n"
        f"  Expected: at most {limit}, which one statement can tell apart.\n"
        f"  What to do: rebuild the model with `dbt run --full-refresh --select {short(model)}`, and then run it "
        "more often."
    )
