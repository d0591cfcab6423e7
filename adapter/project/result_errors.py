"""The errors of SQL that is correct only in the first run."""

from __future__ import annotations

from collections.abc import Sequence

from iceberg_incremental.errors import ConfigError
from iceberg_incremental.plan.policy import Policy, Strategy

from .captured import Captured, Total

_SHOWN = 3


def aggregated_changes(model: str, policy: Policy, totals: Sequence[Total]) -> ConfigError:
    """A model aggregates only the changes, and its strategy replaces existing rows with the result."""
    listed = "; ".join(f"{total.sql} over {total.captured}" for total in totals[:_SHOWN])
    more = f"; and {len(totals) - _SHOWN} more" if len(totals) > _SHOWN else ""
    keys = list(policy.unique_key) or ["<column of the group>"]
    replaced = "partition" if policy.strategy is Strategy.INSERT_OVERWRITE else "row"
    groups = (
        f"recompute changed groups from all of their rows: from {{{{ ip_changed_groups(ref('…'), {keys}) }}}} group "
        f"by {', '.join(keys)}, with incremental_strategy='merge' and these columns in unique_key"
    )
    days = (
        "recompute changed partitions from all of their rows: {% set days = ip_range(ref('…'), 'day') %}, and from {{ "
        "ip_as_of(ref('…')) }} where day between {{ days.min }} and {{ days.max }}, with "
        "incremental_strategy='insert_overwrite'"
    )
    return ConfigError(
        f"{model} aggregates captured changes. In later runs, these contain only the new rows.",
        expected=f"with incremental_strategy '{policy.strategy.value}', values that do not depend on which rows are "
        f"new, since each new {replaced} replaces an existing {replaced}. A count of the new rows would replace the "
        "count of all rows.",
        found=f"{listed}{more}.",
        fix=[
            *([days, groups] if policy.strategy is Strategy.INSERT_OVERWRITE else [groups, days]),
            "add the new sums to the existing sums: under is_incremental(), add the existing rows of {{ this }} with "
            "UNION ALL, and sum both (docs/patterns.md has the SQL)",
            "if all rows of a group always arrive in one run, set aggregates_of_changes='allow'",
        ],
    ).named("aggregated-changes")


def ignored_sign(model: str, signed: Sequence[Captured]) -> ConfigError:
    """A model reads ``ip_signed_changes`` but ignores the sign, so removed rows count as added rows."""
    return ConfigError(
        f"{model} ignores the sign of the rows that it reads.",
        expected="SQL that reads _change_sign. It is 1 for added rows and -1 for removed rows, so without the sign, a "
        "removed row counts as another added row.",
        found=f"no _change_sign of {', '.join(map(str, signed))}.",
        fix=[
            "for sums and counts: sum(_change_sign), and sum(if(_change_sign = 1, amount, -amount))",
            "for a mirror of the source: ip_changelog(), with incremental_strategy='apply_changes'",
            "for added rows only: where _change_sign = 1",
        ],
    ).named("ignored-sign")
