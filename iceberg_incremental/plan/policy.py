"""What a model is configured to do: the strategies, the policies, and their defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum

from .history_config import HistoryConfig

MATERIALIZATION = "iceberg_incremental_snapshot"
ON_SCHEMA_CHANGE = ("ignore", "append_new_columns", "sync_all_columns", "fail")


class Strategy(str, Enum):
    """How the model's rows go into the target."""

    APPEND = "append"
    MERGE = "merge"
    INSERT_OVERWRITE = "insert_overwrite"
    APPLY_CHANGES = "apply_changes"
    AUTO = "auto"
    HISTORY = "history"

    @property
    def replaces_partitions(self) -> bool:
        """Whether the new rows take the place of the partitions that they fall into; of no rows, that is no commit."""
        return self is Strategy.INSERT_OVERWRITE

    @property
    def may_reprocess(self) -> bool:
        """Whether rows that the target has already can be written again without being doubled."""
        return self in (Strategy.MERGE, Strategy.INSERT_OVERWRITE)

    @property
    def is_keyed(self) -> bool:
        """Whether a unique_key identifies the target's rows; of a history, those that are valid at one time."""
        return self in (Strategy.MERGE, Strategy.APPLY_CHANGES, Strategy.HISTORY)

    @property
    def takes_changelog(self) -> bool:
        """Whether the model's SQL gives a changelog, and not rows of its table."""
        return self in (Strategy.APPLY_CHANGES, Strategy.HISTORY)

    @property
    def table_defaults(self) -> Mapping[str, str]:
        """The properties of a new table, where the model sets no others.

        Where rows will be replaced, a run then marks the old ones, and rewrites no file for them.
        """
        if not self.is_keyed and self is not Strategy.AUTO:
            return {}
        return {
            "format-version": "3",
            **{f"write.{kind}.mode": "merge-on-read" for kind in ("delete", "update", "merge")},
        }


class OnRewrite(str, Enum):
    """What ``ip_changes`` does with commits that change or delete rows of a source."""

    FAIL = "fail"
    UPSERTS = "upserts"
    IGNORE = "ignore"
    FULL_REFRESH = "full_refresh"


class OnAggregates(str, Enum):
    """What follows when the model's SQL aggregates captured changes, and the result replaces rows of its table."""

    FAIL = "fail"
    ALLOW = "allow"


class OnNotIncremental(str, Enum):
    """What follows for plain SQL that cannot be kept up to date by what changed."""

    FAIL = "fail"
    FULL_REFRESH = "full_refresh"


class OnBreak(str, Enum):
    """What follows when the history does not lead from the checkpoint to the source's head."""

    FAIL = "fail"
    FULL_REFRESH = "full_refresh"


class OnSqlChange(str, Enum):
    """What follows when a model's logic is another than the one that its table was built with."""

    WARN = "warn"
    FAIL = "fail"
    FULL_REFRESH = "full_refresh"
    IGNORE = "ignore"


class Cause(str, Enum):
    """Why a source's history does not lead from the checkpoint to its head."""

    REBUILT = "rebuilt"
    ROLLED_BACK = "rolled_back"
    EXPIRED = "expired"


DEFAULT_ON_BREAK = {
    Cause.REBUILT: OnBreak.FULL_REFRESH,
    Cause.ROLLED_BACK: OnBreak.FAIL,
    Cause.EXPIRED: OnBreak.FAIL,
}


@dataclass(frozen=True)
class Policy:
    """What a model's configuration says of incremental processing.

    ``may_rebuild`` is False for a model configured ``full_refresh: false``, which no policy rebuilds.
    ``max_snapshots``, ``max_bytes``: how much of each source a run takes that continues from a checkpoint.
    ``fixed_columns``: columns of the target that all rows of one unique_key have the same value in.
    ``replaces_rows``: whether this model replaces rows of its table as a whole, by nothing but the unique_key.
    ``sequence_by``: columns by which the newest of several rows of one unique_key is known, compared in order.
    ``hold``: for how long tags keep the model's positions in its sources; None for no tags.
    ``audit``: whether the model's data tests judge its rows before they are published.
    ``on_aggregates``: whether the SQL may aggregate captured changes where the result replaces rows of the table.
    ``on_not_incremental``: whether plain SQL that cannot be updated incrementally may be rebuilt instead.
    ``rebuild_above``: the share of affected keys above which plain SQL is rebuilt; None where estimated costs decide.
    ``history``: how a history table is kept, of a model that keeps one.
    """

    strategy: Strategy = Strategy.APPEND
    unique_key: tuple[str, ...] = ()
    on_source_rewrite: OnRewrite = OnRewrite.FAIL
    on_history_break: Mapping[Cause, OnBreak] = field(default_factory=lambda: dict(DEFAULT_ON_BREAK))
    on_missing_checkpoint: OnBreak = OnBreak.FAIL
    on_sql_change: OnSqlChange = OnSqlChange.WARN
    may_rebuild: bool = True
    max_snapshots: int | None = None
    max_bytes: int | None = None
    fixed_columns: tuple[str, ...] = ()
    replaces_rows: bool = False
    sequence_by: tuple[str, ...] = ()
    hold: timedelta | None = None
    audit: bool = False
    on_aggregates: OnAggregates = OnAggregates.FAIL
    on_not_incremental: OnNotIncremental = OnNotIncremental.FAIL
    rebuild_above: float | None = None
    history: HistoryConfig | None = None

    @property
    def replaces_unknown_tables(self) -> bool:
        """Whether a table that the model did not build may be replaced by a rebuild."""
        return self.on_missing_checkpoint is OnBreak.FULL_REFRESH and self.may_rebuild

    @property
    def ignores_rewrites(self) -> bool:
        """Whether commits that change or delete rows are passed over."""
        return self.on_source_rewrite is OnRewrite.IGNORE

    @property
    def nets_rewrites(self) -> bool:
        """Whether commits that change or delete rows are read for the rows that they leave new or changed."""
        return self.on_source_rewrite is OnRewrite.UPSERTS
