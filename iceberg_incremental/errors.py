"""The errors of incremental processing.

IncrementalError
 ├─ ConfigError                   a model's config or a macro's argument is wrong
 │   ├─ ArgumentsError            a macro was called with arguments that it does not take
 │   ├─ NotIncrementalError       plain SQL that cannot be kept up to date by what changed
 │   └─ OutOfSyncError            the columns of a model and its table differ, under on_schema_change: fail
 ├─ SourceError                   a source cannot be captured
 │   ├─ NotIcebergError           a view, or a table of another format
 │   │   └─ ViewError             a view
 │   └─ SourceMissingError        no such table
 ├─ HistoryBreakError             a source's history no longer leads from the checkpoint to its head
 ├─ RewriteError                  the captured range holds commits that change or delete rows
 ├─ CheckpointError               a checkpoint cannot be read, or is not this model's, or is missing
 ├─ ConcurrentRunError            another run, or another writer, has changed what this run stands on
 ├─ StagingError                  the commits of a run are not where they were staged
 ├─ AuditError                    data tests failed on the staged rows, or could not be carried out
 ├─ DuplicateKeyError             more than one new row has the same unique_key
 │   └─ SequenceError             sequence_by does not say which of them is the newest
 ├─ IncomparableError             a table that cannot be compared with its rebuild
 ├─ DifferenceError               a table that differs from its rebuild
 ├─ MetadataAccessError           the table's metadata cannot be reached
 └─ StatementError                Spark, or what leads to it, refused a statement

Each message says what was expected, what was found, and what to do. When one is raised, the run has committed no rows
and no checkpoint of its own that count; a StagingError says it where rows are in the table nevertheless.
"""

from __future__ import annotations


class IncrementalError(Exception):
    """Base of all errors of incremental processing. ``msg``: what it says, which callers may add to."""

    def __init__(self, msg: str) -> None:
        super().__init__(msg)
        self.msg = msg

    def __str__(self) -> str:
        return self.msg


class ConfigError(IncrementalError):
    """A model's config or a macro's argument is wrong."""


class ArgumentsError(ConfigError):
    """A macro got arguments that it does not take."""


class NotIncrementalError(ConfigError):
    """Plain SQL cannot be kept up to date by what changed."""


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
    """A source's history no longer leads from the checkpoint to its head."""


class RewriteError(IncrementalError):
    """The captured range holds commits that change or delete rows."""


class CheckpointError(IncrementalError):
    """A checkpoint cannot be read, is not this model's, or is missing."""


class ConcurrentRunError(IncrementalError):
    """Another run of the model has published since the capture, or another writer has changed what this run reads."""


class StagingError(IncrementalError):
    """The commits of a run are not where they were staged, or not as many as its statements."""


class AuditError(IncrementalError):
    """Data tests failed on the staged rows, or could not be carried out on them."""


class DuplicateKeyError(IncrementalError):
    """More than one new row has the same unique_key."""


class SequenceError(DuplicateKeyError):
    """``sequence_by`` does not say which of several rows of one unique_key is the newest."""


class IncomparableError(IncrementalError):
    """A table cannot be compared with its rebuild."""


class DifferenceError(IncrementalError):
    """A table differs from its rebuild."""


class MetadataAccessError(IncrementalError):
    """A table's metadata cannot be reached."""


class MaintenanceError(IncrementalError):
    """The maintenance of some tables failed."""


class StatementError(IncrementalError):
    """Spark, or what leads to it, refused a statement. The connection's own error is its ``__cause__``."""
