"""The errors of incremental processing.

IncrementalError
 ├─ ConfigError                   a model's config or a macro's argument is wrong
 │   ├─ ArgumentsError            a macro was called with arguments that it does not accept
 │   ├─ NotIncrementalError       plain SQL that cannot be updated incrementally
 │   └─ OutOfSyncError            the columns of a model and its table differ, under on_schema_change: fail
 ├─ SourceError                   a source cannot be captured
 │   ├─ NotIcebergError           a view, or a table of another format
 │   │   └─ ViewError             a view
 │   └─ SourceMissingError        no such table
 ├─ HistoryBreakError             a source's history no longer leads from the checkpoint to its current snapshot
 ├─ RewriteError                  the captured range has commits that change or delete rows
 ├─ CheckpointError               a checkpoint cannot be read, belongs to another model, or is missing
 ├─ ConcurrentRunError            another run or another writer has changed what this run reads
 ├─ StagingError                  the commits of a run are not on its branch
 ├─ NotKeptError                  the catalog did not do what it reported as done
 ├─ AuditError                    data tests failed on the staged rows, or could not run on them
 ├─ DuplicateKeyError             more than one new row has the same unique_key
 │   └─ SequenceError             sequence_by does not determine the newest of them
 ├─ IncomparableError             a table that cannot be compared with its rebuild
 ├─ DifferenceError               a table that differs from its rebuild
 ├─ MetadataAccessError           the table's metadata is unreachable
 ├─ MaintenanceError              the maintenance of some tables failed
 └─ StatementError                Spark or the connection to it rejected a statement

When an error is raised, the run has published neither rows nor a checkpoint. The message of a StagingError states which
rows are in the table, if any are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

INDEX = "dbt-spark-iceberg explain"
"""The command that prints an entry of the index of errors. Without a name, it lists all entries."""

_Error = TypeVar("_Error", bound="IncrementalError")


def message(what: str, *, expected: str = "", found: str = "", state: str = "", fix: str | Sequence[str] = ()) -> str:
    """The message of an error or a warning: what is wrong, what was expected, what was found, and how to fix it.

    ``state``: the state of the table after the error, unless it is obvious. ``fix``: one way, or the alternatives.
    """
    lines = [what]
    for label, text in (("Expected", expected), ("Found", found)):
        if text:
            lines.append(f"  {label}:{text}" if text.startswith("\n") else f"  {label}: {text}")
    before = f"  {state} " if state else "  "
    ways = [fix] if isinstance(fix, str) else fix
    if len(ways) == 1:
        lines.append(f"{before}To fix: {ways[0]}")
    elif ways:
        lines.append(f"{before}To fix, one of:")
        lines += [f"    {number}. {way}" for number, way in enumerate(ways, 1)]
    return "\n".join(lines)


class IncrementalError(Exception):
    """The base class of all errors of incremental processing.

    ``what``, ``expected``, ``found``, ``state`` and ``fix`` are the parts of its ``message``. ``name``: the name of its
    entry in the index of errors, or an empty string.
    """

    def __init__(
        self, what: str, *, expected: str = "", found: str = "", state: str = "", fix: str | Sequence[str] = ()
    ) -> None:
        super().__init__(what)
        self.what, self.expected, self.found, self.state, self.fix = what, expected, found, state, fix
        self.name = ""

    def named(self: _Error, name: str) -> _Error:
        """This error with an entry in the index of errors, which the last line of its message names.

        Never change a name, because users search for it and link to it.
        """
        self.name = name
        return self

    @property
    def msg(self) -> str:
        """The message, as users see it."""
        text = message(self.what, expected=self.expected, found=self.found, state=self.state, fix=self.fix)
        return f"{text}\n  More: {INDEX} {self.name}" if self.name else text

    def __str__(self) -> str:
        return self.msg


class ConfigError(IncrementalError):
    """A model's config or a macro's argument is wrong."""


class ArgumentsError(ConfigError):
    """A macro was called with arguments that it does not accept."""


class NotIncrementalError(ConfigError):
    """Plain SQL cannot be updated incrementally."""


class OutOfSyncError(ConfigError):
    """The columns of a model and its table differ, under ``on_schema_change: fail``."""


class SourceError(IncrementalError):
    """A source cannot be captured."""


class NotIcebergError(SourceError):
    """The relation is a view, or a table of another format than Iceberg."""


class ViewError(NotIcebergError):
    """The relation is a view."""


class SourceMissingError(SourceError):
    """The relation does not exist."""


class HistoryBreakError(IncrementalError):
    """A source's history no longer leads from the checkpoint to its current snapshot."""


class RewriteError(IncrementalError):
    """The captured range has commits that change or delete rows."""


class CheckpointError(IncrementalError):
    """A checkpoint cannot be read, belongs to another model, or is missing."""


class ConcurrentRunError(IncrementalError):
    """Another run of the model has published since the capture, or another writer has changed what this run reads."""


class StagingError(IncrementalError):
    """The commits of a run are not on its branch, or their number differs from the number of its statements."""


class NotKeptError(IncrementalError):
    """The catalog accepted a request, such as for a branch or a tag, but did not do what it asked for."""


class AuditError(IncrementalError):
    """Data tests failed on the staged rows, or could not run on them."""


class DuplicateKeyError(IncrementalError):
    """More than one new row has the same unique_key."""


class SequenceError(DuplicateKeyError):
    """``sequence_by`` does not determine the newest of several rows with one unique_key."""


class IncomparableError(IncrementalError):
    """A table cannot be compared with its rebuild."""


class DifferenceError(IncrementalError):
    """A table differs from its rebuild."""


class MetadataAccessError(IncrementalError):
    """A table's metadata is unreachable."""


class MaintenanceError(IncrementalError):
    """The maintenance of some tables failed."""


class StatementError(IncrementalError):
    """Spark or the connection to it rejected a statement. The connection's own error is the ``__cause__``."""
