"""The statements of maintenance: Iceberg's own procedures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from iceberg_incremental.maintenance.compaction import DELETED, MIN_FILES, DataRewrite, DeleteRewrite
from iceberg_incremental.maintenance.expiry import Expiry
from iceberg_incremental.maintenance.table_plan import PlanPart, StepKind, TablePlan
from iceberg_incremental.sql import sql_name, sql_string
from iceberg_incremental.table.history import TableName


@dataclass(frozen=True)
class Step:
    """A step and its statement. ``part``: the part of the plan that it executes, or the branch that it drops."""

    action: StepKind
    sql: str
    part: PlanPart | None = None


def steps(plan: TablePlan, *, orphan_files: bool = False) -> Iterator[Step]:
    """The steps of a table's maintenance. ``orphan_files``: whether to remove files that no metadata lists.

    Snapshots expire before files are rewritten, because the plan is based on the metadata before the rewrite.
    """
    table = plan.table
    if plan.is_left:
        yield Step(StepKind.DROP_TABLE, f"DROP TABLE IF EXISTS {table.sql}{'' if plan.is_shared else ' PURGE'}")
        return
    for branch in plan.left:
        sql = f"ALTER TABLE {table.sql} DROP BRANCH IF EXISTS {sql_name(branch)}"
        yield Step(StepKind.DROP_BRANCH, sql, branch)
    if plan.order is not None:
        yield Step(StepKind.SET_ORDER, f"ALTER TABLE {table.sql} {plan.order.clause}", plan.order)
    if plan.expiry is not None:
        yield _call(StepKind.EXPIRE, table, _expiry(plan.expiry), plan.expiry)
    if plan.data is not None:
        options = _options(plan.data, {"delete-ratio-threshold": DELETED})
        if plan.is_sorted:  # by default, the procedure keeps the order of the rows that it reads
            options = {"strategy": "'sort'", **options}
        yield _call(StepKind.REWRITE_DATA, table, options, plan.data)
    if plan.deletes is not None:
        yield _call(StepKind.REWRITE_DELETES, table, _options(plan.deletes), plan.deletes)
    if plan.manifests is not None:
        yield _call(StepKind.REWRITE_MANIFESTS, table, {}, plan.manifests)
    if orphan_files and not (plan.fresh or plan.is_shared or plan.listed_with or plan.unlocated):
        # Only files older than three days, Iceberg's default. By default, Hadoop would list the files, for which it
        # needs a file system for the table's scheme, such as s3. The table's own FileIO always reads it.
        yield _call(StepKind.REMOVE_ORPHANS, table, {"prefix_listing": "true"})


def _call(action: StepKind, table: TableName, arguments: Mapping[str, str], part: PlanPart | None = None) -> Step:
    listed = {"table": sql_string(table.sql), **arguments}
    given = ", ".join(f"{name} => {value}" for name, value in listed.items())
    return Step(action, f"CALL {sql_name(table.catalog)}.system.{action.value}({given})", part)


def _expiry(expiry: Expiry) -> Mapping[str, str]:
    return {"older_than": f"timestamp_millis({expiry.older_than_ms})", "retain_last": str(expiry.keeps)}


def _options(rewrite: DataRewrite | DeleteRewrite, more: Mapping[str, float] | None = None) -> Mapping[str, str]:
    """The options with which Iceberg selects the planned files.

    One commit rewrites all of these files, so at most one commit can conflict with other writers.
    """
    options = {
        "target-file-size-bytes": rewrite.target,
        "min-file-size-bytes": rewrite.below,
        "min-input-files": MIN_FILES,
        **(more or {}),
    }
    listed = ", ".join(f"{sql_string(key)}, {sql_string(str(value))}" for key, value in options.items())
    return {"options": f"map({listed})"}
