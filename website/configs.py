"""The configs of a model of this materialization, with what each one takes and does: the reference of the docs."""

from __future__ import annotations

from dataclasses import dataclass

from iceberg_incremental.plan.history_config import HardDeletes
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


@dataclass(frozen=True)
class Config:
    """A config of a model, as the reference shows it: in Markdown, links as from docs/.

    ``values``: what it takes, the default first. ``meaning``: what it does.
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
        "how the rows go into the table. `auto` takes plain SQL without the macros, and keeps the table equal to it "
        "([rules](plain-sql.md)). `append` adds the rows. `merge` replaces the rows of the same `unique_key`. "
        "`insert_overwrite` replaces the partitions that the rows fall into, by `partition_by`. `apply_changes` merges "
        "an `ip_changelog`, deletions included: the SQL passes `_change_type` on, which the table does not store; a "
        "row that the SQL no longer keeps is deleted. `history` keeps all versions of each row of an `ip_changelog`, "
        "as dbt's snapshots do ([guide](history.md))",
    ),
    "unique_key": Config(
        _NONE_OR_COLUMNS,
        "identifies the rows of the table. `merge`, `apply_changes` and `history` need it; with `append`, which never "
        "replaces a row, it is an error. For `auto` it is optional: the columns by which rows are replaced "
        "([rules](plain-sql.md#unique_key))",
    ),
    "on_not_incremental": Config(
        _either(*(choice.value for choice in OnNotIncremental)),
        "what `auto` does with SQL that changes of the sources cannot keep up to date. `full_refresh` replaces all "
        "rows in each run in which a source has changed ([rules](plain-sql.md#on_not_incremental))",
    ),
    "rebuild_above": Config(
        "none; a number from 0 to 1",
        "the share of affected keys above which `auto` replaces all rows: `0` always, `1` never. Without it, the run "
        "compares estimated costs ([rules](plain-sql.md#how-a-run-chooses))",
    ),
    "check_cols": Config(
        "`all`; a list of columns",
        "the columns of which a change makes a new version in a `history`. The other columns of the valid version "
        "follow the source ([guide](history.md#options))",
    ),
    "hard_deletes": Config(
        _either(*(choice.value for choice in HardDeletes)),
        "what a deletion does to the valid version in a `history`. `invalidate` ends it, `ignore` leaves it valid, "
        "`new_record` ends it and adds a version that says that the row is deleted ([guide](history.md#deletions))",
    ),
    "dbt_valid_to_current": Config(
        "none; an SQL expression",
        "the `dbt_valid_to` of valid versions in a `history`, such as `to_date('9999-12-31')`; NULL by default",
    ),
    "snapshot_meta_column_names": Config(
        "none; a mapping",
        "other names for `dbt_valid_from`, `dbt_valid_to`, `dbt_scd_id`, `dbt_updated_at` and `dbt_is_deleted` in a "
        "`history`",
    ),
    "sequence_by": Config(
        _NONE_OR_COLUMNS,
        "says which of several rows of a `unique_key` is the newest: `merge` and `apply_changes` take that one instead "
        "of failing, and rows and deletions that come late replace nothing "
        "([rules](patterns.md#late-and-out-of-order-rows)). A `history` takes one column, at whose values the versions "
        "of a log begin ([guide](history.md#from-a-log-of-events))",
    ),
    "on_source_rewrite": Config(
        _either(*(choice.value for choice in OnRewrite)),
        "what `ip_changes` does when commits changed or deleted rows of the source. `fail` still reads a range that "
        "changes only rows of its own ([rules](guarantees.md#rows-that-a-range-adds-and-changes)). `upserts` gives "
        "each new or changed row once, as it is at the end of the range, for a `merge`: an `append` keeps the old "
        "version too; deleted rows do not show. `ignore` takes appended rows only",
    ),
    "aggregates_of_changes": Config(
        _either(*(choice.value for choice in OnAggregates)),
        "what to do when a strategy other than `append` writes aggregates of captured changes that are not added to "
        "the table's own rows. `allow` is right only if no group gets rows in more than one run "
        "([rules](patterns.md#aggregates-of-the-changes-alone))",
    ),
    "on_history_break": Config(
        f"`{{{_ON_BREAK}}}`",
        "what to do when the source's history does not lead from the checkpoint to its head: one value for all causes, "
        f"or a mapping by cause; each is {_either(*(choice.value for choice in OnBreak))}",
    ),
    "on_missing_checkpoint": Config(
        _either(*(choice.value for choice in OnBreak)),
        "what to do when the table exists, but has no checkpoint of this model",
    ),
    "on_sql_change": Config(
        _either(*(choice.value for choice in OnSqlChange)),
        "what to do when the model's SQL, or a macro, variable or config that decides its rows, is no longer the one "
        "that its table was built with. `warn` logs the difference and applies the new SQL to new rows only "
        "([rules](guarantees.md#edited-models)). `auto` takes `full_refresh`, its default, and `fail`",
    ),
    "on_schema_change": Config(
        _either(*ON_SCHEMA_CHANGE),
        "as for dbt's `incremental`; but under `ignore`, a column that the model's SQL no longer returns is an error, "
        "and under each value so is a type that cannot hold every value, unless `sync_all_columns` can widen it. The "
        "columns by which rows are compared (`unique_key`, `sequence_by`, `merge_fixed_columns`, and the partition "
        "columns of `insert_overwrite`) keep their types, except for the size of numbers",
    ),
    "max_snapshots_per_run": Config(
        "none; a whole number above 0",
        "caps how many commits of each source an incremental run reads; the rest waits for the next run, and the log "
        "says how much",
    ),
    "max_bytes_per_run": Config(
        "none; a whole number above 0",
        "caps the bytes likewise, but a run always reads at least one commit",
    ),
    "hold_source": Config(
        "none; a duration, such as `14 days` or `36h`",
        "for how long from each run a tag in each source keeps the snapshot that the model continues from, so that no "
        "`expire_snapshots` takes away what is still to be read ([rules](guarantees.md#held-positions))",
    ),
    "audit": Config(
        "`false`, `true`",
        "write, audit, publish: the model's generic data tests judge the table with the new rows before anyone can "
        "read them; a failure of severity error publishes nothing ([rules](guarantees.md#audits))",
    ),
    "merge_fixed_columns": Config(
        _NONE_OR_COLUMNS,
        "columns that never change for a key, such as the column that the table is partitioned by: `merge` and "
        "`apply_changes` then search for old rows only where those of the changed rows are",
    ),
    "merge_update_columns": Config(
        _NONE_OR_COLUMNS,
        "the columns that an update of a row sets, as in dbt; one MERGE statement writes all rows then",
    ),
    "merge_exclude_columns": Config(
        _NONE_OR_COLUMNS,
        "the columns that an update of a row leaves as they are, as in dbt; one MERGE statement writes all rows then",
    ),
    "incremental_predicates": Config(
        "none; a condition, or a list of conditions",
        "further conditions of a match, as in dbt; one MERGE statement writes all rows then",
    ),
    "partition_by": Config(
        "none; a column or a transform of one, or a list of these",
        "how the table is partitioned: `years(c)`, `months(c)`, `days(c)`, `hours(c)`, `bucket(16, c)`, "
        "`truncate(4, c)`. `insert_overwrite` needs it",
    ),
    "tblproperties": Config(
        "none; a mapping",
        "properties of the Iceberg table. Tables that `auto`, `merge` or `apply_changes` build are format v3 "
        "and merge-on-read unless these say otherwise",
    ),
    "full_refresh": Config("none; `true`, `false`", "as in dbt; under `false`, no policy rebuilds the model either"),
    "catalog_name": Config(
        "none; a name",
        "a catalog of [catalogs.yml](features.md#catalogsyml), in whose Spark catalog the model is built",
    ),
    "file_format": Config("`iceberg`", "may be left out: every table is an Iceberg table"),
}
"""What the materialization reads."""

FURTHER = {
    "event_time": Config(
        "none; a column",
        "as for dbt's microbatch: with `--event-time-start` and `--event-time-end`, a `merge` or `insert_overwrite` "
        "model processes that window again, and its checkpoint stays ([backfills](patterns.md#backfills))",
    ),
    "database": Config("the profile's `catalog`; a name", "the Spark catalog that the model is built in"),
    "location_root": Config("none; a location", "the table lies in `<location_root>/<alias>`"),
    "ip_incremental": Config(
        "`true`, `false`",
        "of a dbt snapshot: with `false`, it compares whole tables in each run, and not only the keys that changed "
        "([rules](snapshots.md))",
    ),
    "clone_as": Config(
        "`clone`, `table`, `view`",
        "what `dbt clone` makes of a table: a table with the same files, a copy, or a view ([clones](clones.md))",
    ),
    "clone_retention": Config(
        "`7 days`; a duration",
        "for how long the origin of a clone keeps the files that they share ([clones](clones.md))",
    ),
}
"""What dbt, or the adapter beside the materialization, reads."""
