"""The kinds of models. Each has its SQL, and the effect that a run must have on its table, in plain Python.

First-stage models read the source (``id``, ``k``, ``day``, ``v``), second-stage models the table of a first-stage one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

Row = tuple[Any, ...]
Rows = Counter[Row]

POLICIES = ("fail", "upserts", "ignore", "full_refresh")


class TwiceError(Exception):
    """A key occurs twice in rows of which a table may contain only one per key."""


@dataclass(frozen=True)
class Delta:
    """The changes that a run reads from a relation, up to a position. In a first build, all rows are new.

    ``new``: the rows that ``ip_changes`` returns under the model's policy. ``added``, ``removed``: the exact difference
    between ``end`` and the rows that the model last read.
    """

    position: int | None
    end: Rows
    new: Rows = field(default_factory=Counter)
    added: Rows = field(default_factory=Counter)
    removed: Rows = field(default_factory=Counter)


Fold = Callable[..., Rows]
"""The rows of the table after a run, given the rows before it and the changes of each relation."""


@dataclass(frozen=True)
class Kind:
    """A kind of model. ``reads``: the kinds of first-stage models that a second-stage one can read.

    ``source``, ``parent``: the macros with which it reads, without ``ip_``. ``leaves_emptied``: if True, days whose
    rows are all deleted stay as they were, since nothing overwrites their partitions. Such a kind may also rewrite days
    without changes, so no position is set manually. ``day_at``: the index of ``day``, the event time, among the table's
    columns, or None. ``plain_id``: whether it uses ``id`` as a number. ``is_exact``: whether it can equal a rebuild.
    ``is_star``: whether it selects all columns. ``excuse``: an error with which it may always fail.
    """

    name: str
    sql: str
    fold: Fold
    config: dict[str, Any] = field(default_factory=dict)
    source: tuple[str, ...] = ()
    parent: tuple[str, ...] = ()
    policies: tuple[str, ...] = POLICIES
    needs_key: bool = False
    leaves_emptied: bool = False
    reads: tuple[str, ...] = ()
    day_at: int | None = None
    plain_id: bool = False
    is_exact: bool = True
    is_star: bool = False
    excuse: str | None = None

    @property
    def may_reprocess(self) -> bool:
        """Whether it supports an event-time window."""
        return self.day_at is not None and self.config.get("incremental_strategy") in ("merge", "insert_overwrite")


def put(before: Rows, rows: Iterable[Row], removed_rows: Iterable[Row] = ()) -> Rows:
    """The rows by their first column, after some were deleted and others replaced."""
    held = {row[0]: row for row in before.elements()}
    for row in removed_rows:
        held.pop(row[0], None)
    held.update((row[0], row) for row in rows)
    return Counter(held.values())


def _append(before: Rows, seen: Delta) -> Rows:
    return before + seen.new


def _copy(before: Rows, seen: Delta) -> Rows:
    return before + Counter((row[0], row[3]) for row in seen.new.elements())


def _merge(before: Rows, seen: Delta) -> Rows:
    return put(before, seen.new)


def _mirror(before: Rows, seen: Delta) -> Rows:
    return put(before, seen.added, seen.removed)


def _even(before: Rows, seen: Delta) -> Rows:
    def even(rows: Rows) -> list[Row]:
        return [row for row in rows if row[3] is not None and row[3] % 2 == 0]

    return put(before, even(seen.added), even(seen.removed))


def _latest(before: Rows, seen: Delta) -> Rows:
    new = []
    for k in {row[1] for row in seen.new}:
        ids = [row[0] for row in seen.new.elements() if row[1] == k]
        new.append((k, max((each for each in ids if each is not None), default=None), len(ids)))
    return put(before, new)


def summed(rows: list[Row]) -> tuple[Any, ...]:
    known = [row[3] for row in rows if row[3] is not None]
    return (len(rows), sum(known) if known else None)


def _day(rows: Rows, day: Any) -> Row:
    return (day, *summed([row for row in rows.elements() if row[2] == day]))


def changed(seen: Delta, at: int) -> set[Any]:
    return {row[at] for row in (*seen.added, *seen.removed)}


def _without(before: Rows, keys: set[Any]) -> Rows:
    return Counter({row: n for row, n in before.items() if row[0] not in keys})


def days(before: Rows, seen: Delta) -> Rows:
    there = {row[2] for row in seen.end}
    return put(before, (_day(seen.end, day) for day in {row[2] for row in seen.new} & there))


def _days_changed(before: Rows, seen: Delta) -> Rows:
    return put(before, (_day(seen.end, day) for day in changed(seen, 2)))


def _days_in_range(before: Rows, seen: Delta) -> Rows:
    """Days of the range without changes stay as they were."""
    there = {row[2] for row in seen.end}
    return put(before, (_day(seen.end, day) for day in changed(seen, 2) & there))


def _grouped(before: Rows, seen: Delta, at: int, least: int = 1) -> Rows:
    """The groups by a column that have at least ``least`` rows."""
    keys = changed(seen, at)
    kept = _without(before, keys)
    for key in keys:
        rows = [row for row in seen.end.elements() if row[at] == key]
        if len(rows) >= least:
            kept[(key, *summed(rows))] += 1
    return kept


def _groups(before: Rows, seen: Delta) -> Rows:
    return _grouped(before, seen, at=1, least=2)


def _groups_by_id(before: Rows, seen: Delta) -> Rows:
    return _grouped(before, seen, at=0)


def _subgroups(before: Rows, seen: Delta) -> Rows:
    keys = changed(seen, 1)
    kept = _without(before, keys)
    for k, day in {(row[1], row[2]) for row in seen.end if row[1] in keys}:
        rows = [row for row in seen.end.elements() if row[1:3] == (k, day)]
        kept[(k, day, *summed(rows))] += 1
    return kept


def _groups_of_both(before: Rows, source: Delta, parent: Delta) -> Rows:
    keys = changed(source, 1) | changed(parent, 0)
    kept = _without(before, keys)
    for k in keys:
        rows = [row for row in source.end.elements() if row[1] == k]
        if rows:
            last = next((row[1] for row in parent.end if row[0] == k and k is not None), None)
            kept[(k, *summed(rows), last)] += 1
    return kept


def _joined(before: Rows, source: Delta, parent: Delta) -> Rows:
    by_k = {row[0]: row for row in parent.end}
    return put(before, ((row[0], row[3], *by_k.get(row[1], (None,) * 3)[1:]) for row in source.new))


def _both(before: Rows, source: Delta, parent: Delta) -> Rows:
    def named(rows: Rows, origin: str) -> Rows:
        return Counter((row[0], origin) for row in rows.elements())

    return before + named(source.new, "source") + named(parent.new, "parent")


DAYS_CHANGED = """
    select d.day, count(t.day) as n, sum(t.v) as s
    from (select distinct day from {{ ip_changelog(RELATION) }} as c) as d
    left join {{ ip_as_of(RELATION) }} as t on t.day = d.day
    group by d.day
"""
DAYS_IN_RANGE = """
    {% set days = ip_range(RELATION, 'day') %}
    select day, count(*) as n, sum(v) as s from {{ ip_as_of(RELATION) }} as t
    where day between {{ days.min }} and {{ days.max }} {% if days.has_nulls %} or day is null {% endif %}
    group by day
"""
GROUPS = """
    select k, count(*) as n, sum(v) as s from {{ ip_changed_groups(RELATION, 'k') }} as t
    group by k having count(*) > 1
"""
GROUPS_BY_ID = """
    select id, count(*) as n, sum(v) as s from {{ ip_changed_groups(SOURCE, 'id') }} as t group by id
"""
SUBGROUPS = """
    select k, day, count(*) as n, sum(v) as s from {{ ip_changed_groups(SOURCE, 'k') }} as t group by k, day
"""
MIRROR = "select id, k, day, v, _change_type from {{ ip_changelog(RELATION, unique_key='id') }} as c"
BY_DAY = {"incremental_strategy": "insert_overwrite", "partition_by": "day"}
BY_ID = {"incremental_strategy": "merge", "unique_key": "id"}
BY_K = {"incremental_strategy": "merge", "unique_key": "k"}
BY_K_AND_DAY = {"incremental_strategy": "merge", "unique_key": ["k", "day"]}
WITH_WHOLE = ("changelog", "as_of")
CHANGES_BY_ID = {"incremental_strategy": "apply_changes", "unique_key": "id"}
# A changelog contains every rewrite, whatever the policy.
ANY = ("fail", "full_refresh")

FIRST_STAGE = (
    Kind("append", "select id, k, day, v from {{ ip_changes(SOURCE) }} as c", _append, source=("changes",), day_at=2),
    Kind(
        "mirror", MIRROR.replace("RELATION", "SOURCE"), _mirror, CHANGES_BY_ID,
        source=("changelog",), policies=ANY, needs_key=True, day_at=2,
    ),
    Kind(
        "days",
        """
            select day, count(*) as n, sum(v) as s from {{ ip_as_of(SOURCE) }} as t
            where day in (select day from {{ ip_changes(SOURCE) }} as c)
            group by day
        """,
        days, BY_DAY, source=("changes", "as_of"), day_at=0,
    ),
    Kind(
        "latest", "select k, max(id) as last_id, count(*) as n from {{ ip_changes(SOURCE) }} as c group by k",
        # not under upserts: a row that was set to its own values may be read again, and would count twice
        _latest, {**BY_K, "aggregates_of_changes": "allow"},
        source=("changes",), policies=("fail", "ignore", "full_refresh"),
    ),
    Kind(
        "merge", "select id, k, day, v from {{ ip_changes(SOURCE) }} as c", _merge, BY_ID,
        source=("changes",), policies=("fail", "upserts", "upserts", "full_refresh"), needs_key=True, day_at=2,
    ),
    Kind(
        "days_changed", DAYS_CHANGED.replace("RELATION", "SOURCE"), _days_changed, BY_DAY,
        source=WITH_WHOLE, policies=ANY, day_at=0,
    ),
    Kind(
        "even", "select id, k, day, v, _change_type from {{ ip_changelog(SOURCE) }} as c where v % 2 = 0",
        _even, CHANGES_BY_ID, source=("changelog",), policies=ANY, needs_key=True, day_at=2,
    ),
    Kind("groups", GROUPS.replace("RELATION", "SOURCE"), _groups, BY_K, source=WITH_WHOLE, policies=ANY),
    # without keys, some ids are NULL
    Kind("groups_by_id", GROUPS_BY_ID, _groups_by_id, BY_ID, source=WITH_WHOLE, policies=ANY),
    Kind("subgroups", SUBGROUPS, _subgroups, BY_K_AND_DAY, source=WITH_WHOLE, policies=ANY, day_at=1),
    Kind(
        "days_in_range", DAYS_IN_RANGE.replace("RELATION", "SOURCE"), _days_in_range, BY_DAY,
        source=WITH_WHOLE, policies=ANY, leaves_emptied=True, day_at=0,
    ),
)  # fmt: skip

SECOND_STAGE = (
    Kind(
        "copy", "select id, v from {{ ip_changes(PARENT) }} as c", _copy,
        parent=("changes",), policies=("fail", "upserts"), reads=("append",),
    ),
    Kind(
        "mirror_again", MIRROR.replace("RELATION", "PARENT"), _mirror, CHANGES_BY_ID,
        parent=("changelog",), policies=ANY, reads=("mirror", "merge", "even"), day_at=2,
    ),
    Kind(
        "merge_again", "select day, n, s from {{ ip_changes(PARENT) }} as c", _merge,
        {"incremental_strategy": "merge", "unique_key": "day"},
        parent=("changes",), policies=("upserts",), reads=("days", "days_changed", "days_in_range"), day_at=0,
    ),
    Kind(
        "days_again", DAYS_CHANGED.replace("RELATION", "PARENT"), _days_changed, BY_DAY,
        parent=WITH_WHOLE, policies=ANY, reads=("append", "mirror", "merge", "even"), day_at=0,
    ),
    Kind(
        "joined",
        """
            select c.id, c.v, m.last_id, m.n
            from {{ ip_changes(SOURCE) }} as c left join {{ ip_as_of(PARENT) }} as m on c.k = m.k
        """,
        _joined, BY_ID, source=("changes",), parent=("as_of",), policies=("fail", "full_refresh"),
        needs_key=True, reads=("latest",),
    ),
    Kind(
        "both",
        """
            select id, 'source' as origin from {{ ip_changes(SOURCE) }} as c
            union all
            select id, 'parent' from {{ ip_changes(PARENT) }} as d
        """,
        _both, source=("changes",), parent=("changes",), policies=("upserts",), reads=("append", "mirror", "merge"),
    ),
    Kind(
        "groups_again", GROUPS.replace("RELATION", "PARENT"), _groups, BY_K,
        parent=WITH_WHOLE, policies=ANY, reads=("append", "mirror", "merge", "even"),
    ),
    Kind(
        "groups_of_both",
        """
            {% set either = [SOURCE, PARENT] %}
            select s.k, count(*) as n, sum(s.v) as s, max(p.last_id) as last_id
            from {{ ip_changed_groups(SOURCE, 'k', changes_of=either) }} as s
            left join {{ ip_as_of(PARENT) }} as p on s.k = p.k
            group by s.k
        """,
        _groups_of_both, BY_K, source=WITH_WHOLE, parent=WITH_WHOLE, policies=ANY, reads=("latest",),
    ),
)  # fmt: skip
