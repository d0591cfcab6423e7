"""The incremental configs of a model: strategies, policies, and their defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum

from ..table.history import MERGE_ON_READ, WRITE_MODES
from .versions_config import HistoryConfig

MATERIALIZATION = "iceberg_incremental_snapshot"
ON_SCHEMA_CHANGE = ("ignore", "append_new_columns", "sync_all_columns", "fail")


class Strategy(str, Enum):
    """How rows are written to the target."""

    APPEND = "append"
    MERGE = "merge"
    INSERT_OVERWRITE = "insert_overwrite"
    APPLY_CHANGES = "apply_changes"
    AUTO = "auto"
    HISTORY = "history"

    @property
    def replaces_partitions(self) -> bool:
        """Whether new rows replace their whole partitions. Without new rows, there is no commit."""
        return self is Strategy.INSERT_OVERWRITE

    @property
    def may_reprocess(self) -> bool:
        """Whether existing rows can be written again without duplicates."""
        return self in (Strategy.MERGE, Strategy.INSERT_OVERWRITE)

    @property
    def is_keyed(self) -> bool:
        """Whether a unique_key identifies the target's rows. In a history, it identifies the valid versions."""
        return self in (Strategy.MERGE, Strategy.APPLY_CHANGES, Strategy.HISTORY)

    @property
    def takes_changelog(self) -> bool:
        """Whether the model's SQL returns a changelog instead of rows of its table."""
        return self in (Strategy.APPLY_CHANGES, Strategy.HISTORY)

    @property
    def replaces_rows(self) -> bool:
        """Whether single rows of the target are replaced. Statements locate them by Iceberg's metadata columns."""
        return self.is_keyed or self is Strategy.AUTO

    @property
    def table_defaults(self) -> Mapping[str, str]:
        """The default properties of a new table.

        If rows will be replaced, merge-on-read marks old rows as deleted without rewriting files.
        """
        if not self.replaces_rows:
            return {}
        return {
            "format-version": "3",
            **dict.fromkeys(WRITE_MODES, MERGE_ON_READ),
        }


class OnRewrite(str, Enum):
    """What ``ip_changes`` does with commits that change or delete rows of a source."""

    FAIL = "fail"
    UPSERTS = "upserts"
    IGNORE = "ignore"
    FULL_REFRESH = "full_refresh"


class OnAggregates(str, Enum):
    """What to do if the model's SQL aggregates captured changes, and the result replaces rows of its table."""

    FAIL = "fail"
    ALLOW = "allow"


class OnNotIncremental(str, Enum):
    """What to do with plain SQL that cannot be updated incrementally."""

    FAIL = "fail"
    FULL_REFRESH = "full_refresh"


class OnBreak(str, Enum):
    """What to do if the history does not lead from the checkpoint to the source's current snapshot."""

    FAIL = "fail"
    FULL_REFRESH = "full_refresh"


class OnSqlChange(str, Enum):
    """What to do if a model's logic differs from the logic that wrote its table."""

    WARN = "warn"
    FAIL = "fail"
    FULL_REFRESH = "full_refresh"
    IGNORE = "ignore"


class Cause(str, Enum):
    """Why a source's history does not lead from the checkpoint to its current snapshot."""

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
    """The incremental configs of a model.

    - ``may_rebuild``: False with ``full_refresh: false``, so that no policy rebuilds the table.
    - ``max_snapshots``, ``max_bytes``: limits per source for a run that continues from a checkpoint.
    - ``fixed_columns``: columns of the target whose values are the same in all rows with one unique_key.
    - ``replaces_rows``: whether whole rows are replaced, by the unique_key alone.
    - ``sequence_by``: the columns that determine the newest of several rows with one unique_key, in order.
    - ``hold``: how long tags hold the model's positions in its sources; None without tags.
    - ``audit``: whether the model's data tests check its rows before they are published.
    - ``on_aggregates``: whether the SQL may aggregate captured changes if the result replaces rows of the table.
    - ``on_not_incremental``: whether plain SQL that cannot be updated incrementally may be rebuilt instead.
    - ``rebuild_above``: the share of affected keys above which plain SQL is rebuilt; None to compare estimated costs.
    - ``history``: the configs of a history table; None for other tables.
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
        """Whether a rebuild may replace a table that the model did not build."""
        return self.on_missing_checkpoint is OnBreak.FULL_REFRESH and self.may_rebuild

    @property
    def ignores_rewrites(self) -> bool:
        """Whether commits that change or delete rows are skipped."""
        return self.on_source_rewrite is OnRewrite.IGNORE

    @property
    def nets_rewrites(self) -> bool:
        """Whether commits that change or delete rows are read as the new and changed rows that they leave."""
        return self.on_source_rewrite is OnRewrite.UPSERTS
