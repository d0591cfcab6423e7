"""The existing rows of a table to which the changes of its groups are added."""

from __future__ import annotations

from collections.abc import Sequence

from ..expose.groups import broadcast
from ..expose.same_key import same_key
from ..plan.rebuild_cost import MOST_REWRITTEN
from ..query.rules.summary import SummaryDelta
from ..table.checkpoint_state import is_as_written
from ..table.commits import total
from ..table.history import History
from .columns import Typed
from .merge import TARGET
from .update_plan import Summary


def can_continue(summary: SummaryDelta, columns: Sequence[Typed], target: History) -> bool:
    """Whether changes can be added to the table's rows, because runs wrote them with the types of the model's SQL.

    ``columns``: the columns of the table for which the SQL returns values.
    """
    types = {column.name.lower(): str(column.dtype).lower() for column in columns}
    same = all(types.get(name.lower()) == type_.lower() for name, type_ in summary.continued_types.items())
    return same and target.current is not None and is_as_written(target)


def is_rewritten(summary: SummaryDelta, target: History) -> bool:
    """Whether all rows of a table are rewritten when some of its groups are updated."""
    return not summary.keys or target.current is None or total(target.current)[1] <= MOST_REWRITTEN


def old_groups_sql(summary: SummaryDelta, found: Summary, target: History) -> str:
    """The existing rows of the affected groups, or all rows of a small table, as a relation for FROM.

    ``found``: the summary of the view with the changes of the groups.
    """
    assert target.current is not None
    old = target.table.at_sql(target.current.snapshot_id, has_other_names=target.current.has_other_names)
    if is_rewritten(summary, target):
        return old
    same = same_key(TARGET, "ip_keys", tuple(summary.keys), found.types, nulls=found.nulls)
    hint = broadcast("ip_keys", found.keys, found.types)
    where = " and ".join(bound.sql for bound in found.bounds) or "true"
    rows = f"select {hint}{TARGET}.* from {old} as {TARGET} left semi join {found.view} as ip_keys on {same}"
    return f"({rows} where {where})"
