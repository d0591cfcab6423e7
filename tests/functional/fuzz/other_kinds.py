"""Models whose keys may occur twice, models that read changes only in later runs, and models that read a range."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from .kinds import (
    ANY,
    BY_DAY,
    BY_K,
    POLICIES,
    WITH_WHOLE,
    Delta,
    Kind,
    Row,
    Rows,
    TwiceError,
    changed,
    days,
    put,
    summed,
)

IDS = "select id, v, day from {{ ip_changes(SOURCE) }} as c where v % 3 > 0"


def _some(row: Row) -> bool:
    return row[3] is not None and row[3] % 3 > 0


def _merged(before: Rows, seen: Delta, update: Callable[[Row, Row], Row | None]) -> Rows:
    """A merge by the first column. ``update``: the new form of a matched row, or None if it does not match after all.

    NULL matches nothing. Raises TwiceError.
    """
    rows = [(row[0], row[3], row[2]) for row in seen.new.elements() if _some(row)]
    keys = [row[0] for row in rows if row[0] is not None]
    if len(set(keys)) < len(keys):
        raise TwiceError
    after = list(before.elements())
    for new in rows:
        matched = False
        for i, old in enumerate(after):
            updated = update(old, new) if old[0] is not None and old[0] == new[0] else None
            if updated is not None:
                after[i], matched = updated, True
        if not matched:
            after.append(new)
    return Counter(after)


def _replaced(before: Rows, seen: Delta) -> Rows:
    return _merged(before, seen, lambda old, new: new)


def _without_days(before: Rows, seen: Delta) -> Rows:
    return _merged(before, seen, lambda old, new: (*new[:2], old[2]))


def _only_values(before: Rows, seen: Delta) -> Rows:
    return _merged(before, seen, lambda old, new: (old[0], new[1], old[2]))


def _small_ones(before: Rows, seen: Delta) -> Rows:
    return _merged(before, seen, lambda old, new: new if old[1] < 9 else None)


def _ks_in_range(before: Rows, seen: Delta) -> Rows:
    ks = changed(seen, 1) & {row[1] for row in seen.end}
    return put(before, ((k, *summed([row for row in seen.end.elements() if row[1] == k])) for k in ks))


def _by_id(name: str, fold: Callable[..., Rows], **config: object) -> Kind:
    config = {"incremental_strategy": "merge", "unique_key": "id", **config}
    return Kind(name, IDS, fold, config, source=("changes",), policies=POLICIES, is_exact=False)


OTHER_KINDS = (
    _by_id("twice", _replaced),
    _by_id("twice_but_days", _without_days, merge_exclude_columns=["day"]),
    _by_id("twice_values", _only_values, merge_update_columns=["v"]),
    _by_id("twice_small", _small_ones, incremental_predicates=["DBT_INTERNAL_DEST.v < 9"]),
    Kind(
        "days_if_incremental",
        """
            select day, count(*) as n, sum(v) as s from {{ ip_as_of(SOURCE) }} as t
            {% if is_incremental() %} where day in (select day from {{ ip_changes(SOURCE) }} as c) {% endif %}
            group by day
        """,
        days, BY_DAY, source=("changes", "as_of"), is_exact=False, day_at=0,
    ),
    Kind(
        "ks_in_range",
        """
            {% set ks = ip_range(SOURCE, 'k') %}
            select k, count(*) as n, sum(v) as s from {{ ip_as_of(SOURCE) }} as t
            where k between {{ ks.min }} and {{ ks.max }} {% if ks.has_nulls %} or k is null {% endif %}
            group by k
        """,
        _ks_in_range, BY_K, source=WITH_WHOLE, policies=ANY, leaves_emptied=True,
        # NaN, and bytes that are not UTF-8, may have no bounds
        excuse="ip_range() was called with k",
    ),
)  # fmt: skip
