"""The errors of SQL whose result would be wrong from the second run on."""

from __future__ import annotations

from collections.abc import Sequence

from iceberg_incremental.errors import ConfigError
from iceberg_incremental.explain.entries import indexed
from iceberg_incremental.explain.wording import numbered
from iceberg_incremental.plan.policy import Policy, Strategy

from .captured import Captured, Total

_SHOWN = 3


@indexed
def aggregated_changes(model: str, policy: Policy, totals: Sequence[Total]) -> ConfigError:
    """A model aggregates the changes alone, and its strategy replaces rows of the table by the result."""
    listed = "; ".join(f"{total.sql} over {total.captured}" for total in totals[:_SHOWN])
    more = f"; and {len(totals) - _SHOWN} more" if len(totals) > _SHOWN else ""
    keys = list(policy.unique_key) or ["<column of the group>"]
    replaced = "partition" if policy.strategy is Strategy.INSERT_OVERWRITE else "row"
    groups = (
        "compute changed groups again, from all of their rows: from {{ ip_changed_groups(ref('…'), "
        f"{keys}) }}}} group by {', '.join(keys)}, with incremental_strategy='merge' and these columns in unique_key"
    )
    days = (
        "compute changed partitions again, from all of their rows: {% set days = ip_range(ref('…'), 'day') %}, and "
        "from {{ ip_as_of(ref('…')) }} where day between {{ days.min }} and {{ days.max }}, with "
        "incremental_strategy='insert_overwrite'"
    )
    ways = [
        *([days, groups] if policy.strategy is Strategy.INSERT_OVERWRITE else [groups, days]),
        "add the new sums to those in the table: under is_incremental(), union all the rows of {{ this }}, and sum "
        "up both (docs/patterns.md has the SQL)",
        "if no group ever gets rows in more than one run: set aggregates_of_changes='allow'",
    ]
    return ConfigError(
        f"{model} aggregates captured changes, which in later runs are only the new rows.\n"
        f"  Expected: with incremental_strategy '{policy.strategy.value}', values that do not depend on which rows are "
        f"new, since the {replaced} that a run writes replaces the table's {replaced}: a count of the new rows would "
        "replace the count of all rows.\n"
        f"  Found: {listed}{more}.\n"
        f"  To fix, one of:\n{numbered(ways)}"
    )


@indexed
def ignored_sign(model: str, signed: Sequence[Captured]) -> ConfigError:
    """A model reads ``ip_signed_changes``, and its SQL does not look at the sign: removed rows count as added."""
    return ConfigError(
        f"{model} ignores the sign of the rows that it reads.\n"
        "  Expected: SQL that reads _change_sign. It is 1 for rows that were added and -1 for rows that were removed, "
        "so a row without its sign counts twice.\n"
        f"  Found: no _change_sign of {', '.join(map(str, signed))}.\n"
        "  To fix, one of:\n"
        "    1. for sums and counts: sum(_change_sign), and sum(if(_change_sign = 1, amount, -amount))\n"
        "    2. for a mirror of the source: ip_changelog(), with incremental_strategy='apply_changes'\n"
        "    3. for added rows alone: where _change_sign = 1"
    )
