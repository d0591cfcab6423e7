"""Models over a changelog: filtered, projected, joined, and with another key than the changelog's.

Rows of the changelog that the SQL keeps are written to the table by their key. If the SQL keeps only old versions of a
key's rows, the key is deleted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from .kinds import ANY, Delta, Kind, Row, Rows, TwiceError

Shape = Callable[[Row, Delta], Row | None]
"""The result of a model's SQL for a row of the changelog. None if the SQL filters the row out."""


def applied(before: Rows, seen: Delta, shape: Shape, key: int = 1) -> Rows:
    """The table after a changelog was applied. Its first columns are the key.

    Raises TwiceError if two kept rows have the same key, or if a kept row has the key of a row that nothing deletes.
    """
    held = {row[:key]: row for row in before.elements()}
    for row in _shaped(seen.removed, seen, shape):
        held.pop(row[:key], None)
    for row in _shaped(seen.added, seen, shape):
        if row[:key] in held:
            raise TwiceError
        held[row[:key]] = row
    return Counter(held.values())


def _shaped(rows: Rows, seen: Delta, shape: Shape) -> Iterable[Row]:
    """The results of the SQL for these rows, without filtered rows."""
    return (made for row in rows.elements() if (made := shape(row, seen)) is not None)


def _kind(name: str, sql: str, shape: Shape, key: str | list[str] = "id", **details: object) -> Kind:
    width = 1 if isinstance(key, str) else len(key)

    def fold(before: Rows, seen: Delta) -> Rows:
        return applied(before, seen, shape, width)

    config = {"incremental_strategy": "apply_changes", "unique_key": key}
    return Kind(name, sql, fold, config, source=("changelog",), policies=ANY, needs_key=True, **details)  # type: ignore[arg-type]


def _active(row: Row, _: Delta) -> Row | None:
    return row if row[3] is not None and row[3] % 3 else None


def _by_day(row: Row, _: Delta) -> Row:
    return (row[2], row[0], row[3])


def _mapped(row: Row, _: Delta) -> Row:
    return (row[0] * 100 + (50 if row[3] is None else row[3]), row[0], row[3])


def _swapped(row: Row, _: Delta) -> Row:
    """Two neighbours swap their keys while both have the value 12."""
    return (row[0] ^ 1 if row[3] == 12 else row[0], row[0], row[3])


def _in_company(row: Row, seen: Delta) -> Row | None:
    n = _of_k(row, seen)
    return (row[0], row[3], n) if n > 1 else None


def _with_company(row: Row, seen: Delta) -> Row:
    n = _of_k(row, seen)
    return (row[0], row[3], n if n > 1 else None)


def _of_k(row: Row, seen: Delta) -> int:
    return sum(n for other, n in seen.end.items() if other[1] == row[1])


def _signed(before: Rows, seen: Delta) -> Rows:
    """Added rows are added to the sums, and removed rows are subtracted. A group without rows is deleted."""
    held = {row[0]: row[1:] for row in before.elements()}
    for rows, sign in ((seen.added, 1), (seen.removed, -1)):
        for row in rows.elements():
            count, known, total = held.get(row[1], (0, 0, 0))
            held[row[1]] = (count + sign, known + sign * (row[3] is not None), (total or 0) + sign * (row[3] or 0))
    return Counter((k, n, known, total if known else None) for k, (n, known, total) in held.items() if n)


CHANGELOG = "{{ ip_changelog(SOURCE, unique_key='id') }} as c"
COMPANY = """
    select c.id, c.v, m.n, c._change_type from {{ ip_changelog(SOURCE, unique_key='id') }} as c
    JOIN (select k, count(*) as n from {{ ip_as_of(SOURCE) }} as t group by k having count(*) > 1) as m on c.k = m.k
"""

SIGNED = """
    with summands as (
        select k, true as is_new, _change_sign as n, if(v is null, 0, _change_sign) as known,
            if(_change_sign = 1, bigint(v), -bigint(v)) as s
        from {{ ip_signed_changes(SOURCE) }} as c
        {% if is_incremental() %} union all select k, false, n, known, s from {{ this }} {% endif %}
    )
    select k, sum(n) as n, sum(known) as known, if(sum(known) = 0, null, sum(s)) as s,
        if(sum(n) = 0, 'DELETE', 'UPDATE_AFTER') as _change_type
    from summands group by k having any(is_new)
"""

CHANGELOG_KINDS = (
    _kind("active", f"select id, k, day, v, _change_type from {CHANGELOG} where v % 3 <> 0", _active),
    _kind("by_day", f"select day, id, v, _change_type from {CHANGELOG}", _by_day, ["day", "id"]),
    _kind(
        "mapped", f"select id * 100 + coalesce(v, 50) as key, id, v, _change_type from {CHANGELOG}",
        _mapped, "key", plain_id=True,
    ),
    _kind(
        "swapped", f"select if(v <=> 12, id ^ 1, id) as key, id, v, _change_type from {CHANGELOG}",
        _swapped, "key", plain_id=True, is_exact=False,
    ),
    _kind("in_company", COMPANY.replace("JOIN", "join"), _in_company, is_exact=False),
    _kind("with_company", COMPANY.replace("JOIN", "left join"), _with_company, is_exact=False),
)  # fmt: skip

SIGNED_SUMS = Kind(
    "signed", SIGNED, _signed, {"incremental_strategy": "apply_changes", "unique_key": "k"},
    source=("changelog",), policies=ANY,
)  # fmt: skip
