"""Steps of other writers on the models' tables between runs."""

from __future__ import annotations

from .histories import Step
from .oracle import Model
from .table_steps import compact_sql, expire_sql
from .tables import Table


def rollback_sql(table: Table, snapshot: int) -> str:
    """Roll a table back to one of its ancestors."""
    return f"call {table.catalog}.system.rollback_to_snapshot('{table.name}', {snapshot})"


def target_sql(table: Table, step: Step) -> str:
    """The statement of a step that does not change the rows."""
    number = step.numbers[1]
    match step.kind:
        case "compact_target":
            return compact_sql(table)
        case "expire_target":
            return expire_sql(table, 1 + number % 3)
        case "wap_off_target":
            return f"alter table {table.name} set tblproperties ('write.wap.enabled'='false')"
        case "modes_target":
            mode = ("copy-on-write", "merge-on-read")[number % 2]
            modes = ", ".join(f"'write.{each}.mode'='{mode}'" for each in ("delete", "update", "merge"))
            return f"alter table {table.name} set tblproperties ({modes})"
    raise ValueError(step.kind)


def evolve_sql(model: Model, number: int) -> list[str]:
    """Change the partitioning of the table of a model that overwrites days, or partition it by days again.

    Files may be rewritten in between, and then belong to partitions that the table no longer has.
    """
    there = model.partitions
    model.is_evolved = True
    alter = f"alter table {model.table.name}"
    if "day" not in there:
        model.partitions = ["day", *there]
        return [f"{alter} add partition field day"]
    if "n_bucket" in there:
        model.partitions = ["day"]
        return [f"{alter} drop partition field n_bucket"]
    match number % 4:
        case 0:
            model.partitions = []
            return [f"{alter} drop partition field day"]
        case 1:
            model.partitions = ["day", "n_bucket"]
            return [f"{alter} add partition field bucket(2, n) as n_bucket"]
        case _:
            to_months = f"{alter} replace partition field day with months(day)"
            return [to_months, compact_sql(model.table), f"{alter} replace partition field day_month with day"]
