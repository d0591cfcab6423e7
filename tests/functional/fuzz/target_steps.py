"""What somebody does to the tables that models have built, between their runs."""

from __future__ import annotations

from .histories import Step
from .oracle import Model
from .table_steps import compact_sql, expire_sql
from .tables import Table


def rollback_sql(table: Table, snapshot: int) -> str:
    """Rolls a table back to one of its ancestors."""
    return f"call {table.catalog}.system.rollback_to_snapshot('{table.name}', {snapshot})"


def target_sql(table: Table, step: Step) -> str:
    """The statement of a step that leaves the rows as they are."""
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


def evolve_sql(model: Model, number: int) -> str:
    """Partitions the table of a model that overwrites days in another way, or by days again."""
    there = model.partitions
    model.is_evolved = True
    ways = {
        "add partition field day": ["day", *there],
        "replace partition field day with months(day)": ["months", *there[1:]],
        "drop partition field day": there[1:],
        "add partition field bucket(2, n) as n_bucket": [*there, "n_bucket"],
        "drop partition field n_bucket": [each for each in there if each != "n_bucket"],
    }
    if "day" not in there:
        way = "add partition field day"
    elif "n_bucket" in there:
        way = "drop partition field n_bucket"
    else:
        way = list(ways)[1 + number % 3]
    model.partitions = ways[way]
    return f"alter table {model.table.name} {way}"
