"""The plan of a run that keeps a table equal to its SQL, and its choices: the key to search by, groups to continue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...expose.groups import broadcast
from ...expose.same_key import same_key
from ...plan.learned import REPLACE_ALL
from ...plan.rebuild_cost import MOST_REWRITTEN, Choice
from ...query.plan import IncrementalQuery
from ...query.rules.changed import Changes
from ...query.rules.summary import SummaryDelta
from ...spark.port import Spark
from ...sql import sql_names
from ...table.checkpoint_state import is_as_written
from ...table.commits import total
from ...table.history import History
from ...table.types import INTEGERS
from ..columns.table_columns import Typed
from ..strategies.changelog import Bound
from ..strategies.merge import TARGET


@dataclass(frozen=True)
class Summary:
    """The summary of a view of affected keys.

    ``keys``: the number of keys. ``nulls``: whether a key may be NULL. ``types``: the Spark types of the key's columns.
    ``bounds``: satisfied by all keys.
    """

    view: str
    keys: int
    nulls: bool
    types: tuple[str, ...]
    bounds: tuple[Bound, ...]


@dataclass(frozen=True)
class Affected:
    """The affected keys of a run. ``kept``: the query. ``changes``: those of its sources. ``keys``: the summary."""

    kept: IncrementalQuery
    changes: Changes
    keys: Summary


@dataclass(frozen=True)
class Continued:
    """The groups that a run updates from the changed rows alone. ``keys``: the summary of these groups."""

    summary: SummaryDelta
    keys: Summary


@dataclass(frozen=True)
class UpdatePlan:
    """The plan of a run that keeps a table equal to its SQL. Nothing is written yet.

    ``choice``: whether the run replaces all rows, and why. ``added``: the relation of the rows to insert, if existing
    rows do not change. ``continued``: the groups that are updated from the changed rows alone. ``affected``: the keys
    whose rows are replaced; None if they were not counted. ``is_left_alone``: whether no row changes. ``began``: the
    CPU time in s that executors had spent before the affected rows were searched. None if costs are not measured.
    ``kept``: the query, if Spark interprets it as this package does.
    """

    choice: Choice
    added: str | None = None
    continued: Continued | None = None
    affected: Affected | None = None
    is_left_alone: bool = False
    began: float | None = None
    kept: IncrementalQuery | None = None

    @property
    def keys(self) -> Summary | None:
        """The summary of the affected keys. None if they were not determined."""
        found = self.continued or self.affected
        return None if found is None else found.keys

    @property
    def way(self) -> str:
        """How the run updates the table: a key of ``_WAYS``. The run, its report and ``ip_explain`` read it."""
        if self.choice.rebuilds:
            return REPLACE_ALL
        if self.added is not None:
            return "append"
        if self.is_left_alone or (self.keys is not None and not self.keys.keys):
            return "none"
        return "replace_keys" if self.continued is None else "update_groups"


_WAYS = {
    REPLACE_ALL: "all rows are replaced",
    "append": "new rows are inserted",
    "none": "only the checkpoint moves",
    "update_groups": "affected groups are updated from the changed rows alone",
    "replace_keys": "affected rows are replaced",
}


def log_line(model: str, plan: UpdatePlan, way: str) -> str:
    """The log line that states what a run did, and why. ``way``: differs from the plan's if its SQL has failed."""
    failed = "the SQL for the affected rows fails, for a value or in Spark"
    return f"{model}: {_WAYS[way]}, since {plan.choice.reason if way == plan.way else failed}"


SAMPLED_ROWS = 2_000
_ROWS_PER_SAMPLED = 1_000
"""At most so many rows are read for one that is sampled, so that few files of a large table are read."""
_FEWEST_ROWS = 1_000
_REPEATED = 0.001
"""The maximum share of ``n`` sampled rows that repeat the value of another row.

Of ``n`` draws from ``d`` values, a share of about ``n / 2d`` are repetitions. A smaller share therefore indicates at
least ``500 n`` values.
"""


def selective(
    kept: IncrementalQuery, types: Mapping[str, str], table: str, rows: int, spark: Spark
) -> IncrementalQuery:
    """The query with its cheapest narrower key that distinguishes a sample of its table's rows, or the query itself.

    Then without the columns of this key of which the sample shows no need. The first ones are kept.

    The first rows of a file may all be of one day or of one customer, and every 500th row of another one, so the sample
    is of random rows.
    ``table``: its name in SQL. ``rows``: their number in the table. ``types``: the Spark types of the table's columns,
    by lower-case name.
    """
    narrower = kept.narrower()
    if not narrower:
        return kept
    names, one_of = list(kept.key), min(rows // SAMPLED_ROWS, _ROWS_PER_SAMPLED)
    where = f" where pmod(xxhash64(_pos), {one_of}) = 0" if one_of > 1 else ""
    sample = spark.rows(f"select {sql_names(names)} from {table}{where} limit {SAMPLED_ROWS}")

    def distinguishes(key: Sequence[str]) -> bool:
        return tells_apart([names.index(name) for name in key], sample)

    def cost(each: IncrementalQuery) -> tuple[int, bool]:
        return len(each.key), any(types[name.lower()] not in INTEGERS for name in each.key)

    found = min((each for each in narrower if distinguishes(each.key)), key=cost, default=kept)
    for name in reversed(found.key) if distinguishes(found.key) else ():
        fewer = kept.by(tuple(each for each in found.key if each != name))
        found = fewer if fewer is not None and distinguishes(fewer.key) else found
    return found


def tells_apart(places: Sequence[int], rows: Sequence[Sequence[Any]]) -> bool:
    """Whether the values at some positions distinguish nearly all rows. A row with a NULL is not distinguished."""
    if len(rows) < _FEWEST_ROWS:
        return False
    values = {tuple(row[place] for place in places) for row in rows}
    return sum(None not in each for each in values) >= len(rows) * (1 - _REPEATED)


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
