"""The descriptions of configs for docs/reference.md: values and meanings."""

from __future__ import annotations

from dataclasses import dataclass

from iceberg_incremental.plan.policy import (
    DEFAULT_ON_BREAK,
    ON_SCHEMA_CHANGE,
    OnAggregates,
    OnBreak,
    OnNotIncremental,
    OnRewrite,
    OnSqlChange,
    Strategy,
)
from iceberg_incremental.plan.versions_config import HardDeletes


@dataclass(frozen=True)
class Config:
    """The description of a config, as Markdown with links relative to docs/.

    ``values``: the possible values, with the default first. ``meaning``: the effect.
    """

    values: str
    meaning: str


def _either(*values: str) -> str:
    return ", ".join(f"`{value}`" for value in values)


_ON_BREAK = ", ".join(f"{cause.value}: {choice.value}" for cause, choice in DEFAULT_ON_BREAK.items())
_NONE_OR_COLUMNS = "none; a column, or a list of columns"

CONFIGS = {
    "incremental_strategy": Config(
        _either(*(strategy.value for strategy in Strategy)),
        "how rows are written to the table ([comparison](guarantees.md#strategies)). `auto` keeps the table equal to "
        "[plain SQL](plain-sql.md). `append` adds the rows. `merge` replaces rows with the same `unique_key`. "
        "`insert_overwrite` replaces whole partitions. `apply_changes` applies an `ip_changelog`, including deletions; "
        "the SQL must return `_change_type`, which is not stored. `history` keeps all versions of each row "
        "([guide](history.md))",
    ),
    "unique_key": Config(
        _NONE_OR_COLUMNS,
        "identifies the rows of the table. Required by `merge`, `apply_changes` and `history`, refused with `append`, "
        "and [optional with `auto`](plain-sql.md#unique_key)",
    ),
    "on_not_incremental": Config(
        _either(*(choice.value for choice in OnNotIncremental)),
        "what `auto` does with SQL that it cannot update incrementally. `full_refresh` replaces all rows in each run "
        "in which a source has changed ([rules](plain-sql.md#on_not_incremental))",
    ),
    "rebuild_above": Config(
        "none; a number from 0 to 1",
        "the share of affected keys above which `auto` replaces all rows. By default, the run compares estimated costs "
        "([rules](plain-sql.md#how-a-run-chooses))",
    ),
    "deterministic_functions": Config(
        "none; a function, or a list of functions",
        "the functions of your own that always return the same value for the same arguments, so that `auto` accepts "
        "them ([rules](plain-sql.md#functions-of-your-own))",
    ),
    "check_cols": Config(
        "`all`; a list of columns",
        "the columns whose changes create a new version in a history table. Other columns are "
        "updated in place in the valid version ([guide](history.md#options))",
    ),
    "hard_deletes": Config(
        _either(*(choice.value for choice in HardDeletes)),
        "what a deletion does to the valid version in a history table ([guide](history.md#deletions))",
    ),
    "dbt_valid_to_current": Config(
        "none; a SQL expression",
        "the `dbt_valid_to` of valid versions in a history table, such as `to_date('9999-12-31')`; NULL by default",
    ),
    "snapshot_meta_column_names": Config(
        "none; a mapping",
        "other names for `dbt_valid_from`, `dbt_valid_to`, `dbt_scd_id`, `dbt_updated_at` and `dbt_is_deleted` in a "
        "history table",
    ),
    "sequence_by": Config(
        _NONE_OR_COLUMNS,
        "determines which of several rows with the same `unique_key` is the newest "
        "([rules](patterns.md#late-and-out-of-order-rows)). A history table that reads a log accepts one column, "
        "which contains the start of each version ([guide](history.md#from-a-log-of-events))",
    ),
    "on_source_rewrite": Config(
        _either(*(choice.value for choice in OnRewrite)),
        "what `ip_changes` does when commits changed or deleted rows of the source "
        "([rules](guarantees.md#commits-of-a-source)). `upserts` returns each new or changed row once, without deleted "
        "rows; use it with `merge`, because `append` keeps the old version too. `ignore` reads only appended rows",
    ),
    "aggregates_of_changes": Config(
        _either(*(choice.value for choice in OnAggregates)),
        "what to do when the SQL aggregates captured changes. `allow` is correct only if no group has rows in more "
        "than one run ([rules](patterns.md#aggregates-of-the-changes-alone))",
    ),
    "on_history_break": Config(
        f"`{{{_ON_BREAK}}}`",
        "what to do when the source's history does not lead from the checkpoint to its current snapshot "
        "([causes](guarantees.md#breaks-in-a-sources-history)). Set one value for all causes, or a mapping by cause. "
        f"Possible values: {_either(*(choice.value for choice in OnBreak))}",
    ),
    "on_missing_checkpoint": Config(
        _either(*(choice.value for choice in OnBreak)),
        "what to do when the table exists but has no checkpoint of this model",
    ),
    "on_sql_change": Config(
        _either(*(choice.value for choice in OnSqlChange)),
        "what to do when the logic of the model has changed since the table was built "
        "([rules](guarantees.md#edited-models)). `warn` applies the new SQL to new rows only. `auto` accepts only "
        "`full_refresh`, its default, and `fail`",
    ),
    "on_schema_change": Config(
        _either(*ON_SCHEMA_CHANGE),
        "as in dbt's `incremental`, except that differences that would lose values are "
        "[errors](guarantees.md#the-target). With `ignore`, a column that the SQL no longer returns is an error",
    ),
    "max_snapshots_per_run": Config(
        "none; a whole number above 0",
        "limits the number of commits of each source that an incremental run reads. Later runs read the rest",
    ),
    "max_bytes_per_run": Config(
        "none; a whole number above 0",
        "limits the bytes of each source that an incremental run reads. A run always reads at least one commit",
    ),
    "hold_source": Config(
        "none; a duration, such as `14 days` or `36h`",
        "tags the snapshot from which the model continues, in each source whose changes it reads, so that "
        "`expire_snapshots` does not remove unread rows ([rules](guarantees.md#held-positions))",
    ),
    "audit": Config(
        "`false`, `true`",
        "runs the model's generic data tests before readers can see the new rows ([rules](guarantees.md#audits))",
    ),
    "merge_fixed_columns": Config(
        _NONE_OR_COLUMNS,
        "columns that never change for a key, such as the partition column. `merge` and `apply_changes` then search "
        "for old rows only where these columns have the values of the changed rows",
    ),
    "merge_update_columns": Config(
        _NONE_OR_COLUMNS,
        "the columns that an update sets, as in dbt. One MERGE statement then writes all rows",
    ),
    "merge_exclude_columns": Config(
        _NONE_OR_COLUMNS,
        "the columns that an update leaves unchanged, as in dbt. One MERGE statement then writes all rows",
    ),
    "incremental_predicates": Config(
        "none; a condition, or a list of conditions",
        "additional conditions of a match, as in dbt. All rows are then written by one MERGE statement",
    ),
    "partition_by": Config(
        "none; a column or a transform of one, or a list of these",
        "the partitioning of the table: `years(c)`, `months(c)`, `days(c)`, `hours(c)`, `bucket(16, c)`, "
        "`truncate(4, c)`. Required by `insert_overwrite`",
    ),
    "tblproperties": Config(
        "none; a mapping",
        "properties of the Iceberg table. By default, tables of `auto`, `merge`, `apply_changes` and `history` are "
        "format v3 and merge-on-read",
    ),
    "full_refresh": Config("none; `true`, `false`", "as in dbt. With `false`, policies never rebuild the model"),
    "catalog_name": Config(
        "none; a name",
        "a catalog in [catalogs.yml](production.md#catalogsyml). The model is built in its Spark catalog",
    ),
    "file_format": Config("`iceberg`", "can be omitted, because every table is an Iceberg table"),
}
"""The configs that the materialization reads."""

FURTHER = {
    "event_time": Config(
        "none; a column",
        "as in dbt's microbatch: with `--event-time-start` and `--event-time-end`, a `merge` or `insert_overwrite` "
        "model reprocesses that window and keeps its checkpoint ([backfills](patterns.md#backfills))",
    ),
    "database": Config("the profile's `catalog`; a name", "the Spark catalog that the model is built in"),
    "location_root": Config("none; a location", "stores the table in `<location_root>/<alias>`"),
    "ip_incremental": Config(
        "`true`, `false`",
        "for dbt snapshots. With `false`, each run compares whole tables instead of the changed keys "
        "([rules](history.md#dbt-snapshots))",
    ),
    "clone_as": Config(
        "`clone`, `table`, `view`",
        "what `dbt clone` creates: a table with the same files, a copy, or a view ([clones](clones.md))",
    ),
    "clone_retention": Config(
        "`7 days`; a duration",
        "how long the origin of a clone keeps the files that the clone shares ([clones](clones.md))",
    ),
}
"""The configs that dbt or the adapter reads outside the materialization."""
