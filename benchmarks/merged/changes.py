"""SQL of the rows of a dimension, and of the changes of a round.

All values are computed from the keys, so every run uses the same rows. The initial rows have even keys. Inserted rows
have odd keys between them.
"""

from __future__ import annotations

from .cases import STRETCH, Case

KEY = "id"
COLUMNS = (
    KEY,
    "name",
    "email",
    "segment",
    "status",
    "points",
    "balance",
    "born",
    "group_id",
    "updated_at",
)
LISTED = ", ".join(COLUMNS)
_GROUP_ROWS = 30
_OTHERS = 0.1
"""The number of deleted rows, and also of inserted rows, per updated row."""
_MOVES = 0.2
"""The share of updated rows that also move to another group."""
_STRETCHES = 8
"""The number of parts of the table. The key range of each round starts in another part."""


def first_rows(rows: int) -> str:
    """SQL of the initial rows of the dimension."""
    at = f"timestamp_seconds(unix_seconds(timestamp'2025-01-01 00:00:00') + int({_chance('at', 0)} * 31536000))"
    return f"select {_values(rows, 0, at)} from (select {KEY} * 2 as {KEY} from range({rows}))"


def changes(case: Case, source: str, rows: int, number: int) -> str:
    """SQL of the changes of a round to the table ``source``, with ``_change_type``. A deleted row has its last values.

    ``rows``: the initial number of rows. ``number``: the number of the round, counted from 1.
    """
    first, end = _stretch(case, rows, number)
    share = case.percent / 100 if case.spread != STRETCH else 1 / (1 + _OTHERS)
    at = f"timestamp_seconds(unix_seconds(timestamp'2026-01-01 00:00:00') + {number} * 86400 + {_second(number)})"
    chance, within = _chance("change", number), f"{KEY} >= {first} and {KEY} < {end}"
    updated = {
        "status": _status(number),
        "points": _points(number),
        "balance": _balance(number),
        "group_id": f"if({_chance('moves', number)} < {_MOVES}, {_group(rows, number)}, group_id)",
        "updated_at": at,
    }
    new = ", ".join(f"{updated[column]} as {column}" if column in updated else column for column in COLUMNS)
    return f"""
        select {new}, 'UPDATE_AFTER' as _change_type from {source}
        where {within} and {chance} < {share}
        union all
        select {LISTED}, 'DELETE' from {source}
        where {within} and {chance} >= {share} and {chance} < {share * (1 + _OTHERS)}
        union all
        select {_values(rows, number, at)}, 'INSERT' from (
            select {KEY} * 2 + 1 as {KEY} from range({first // 2}, {end // 2})
        ) as new
        where {chance} < {share * _OTHERS} and not exists (select 1 from {source} as old where old.{KEY} = new.{KEY})"""


def _stretch(case: Case, rows: int, number: int) -> tuple[int, int]:
    """The keys that may change in a round, as a half-open range."""
    if case.spread != STRETCH:
        return 0, 2 * rows
    part = 2 * (rows // _STRETCHES)
    first = part * (1 + (number - 1) % (_STRETCHES - 2))
    return first, first + 2 * round(rows * case.percent / 100 * (1 + _OTHERS))


def _values(rows: int, number: int, at: str) -> str:
    """SQL of the columns of new rows."""
    segments = "array('consumer', 'small business', 'enterprise', 'public sector')"
    return ", ".join(
        (
            KEY,
            f"concat('Customer number ', {KEY}) as name",
            f"concat(substring(md5(string({KEY})), 1, 12), '@example.com') as email",
            f"element_at({segments}, 1 + int({_chance('segment', 0)} * 4)) as segment",
            f"{_status(number)} as status",
            f"{_points(number)} as points",
            f"{_balance(number)} as balance",
            f"date_add(date'1940-01-01', int({_chance('born', 0)} * 25000)) as born",
            f"{_group(rows, 0)} as group_id",
            f"{at} as updated_at",
        )
    )


def _status(number: int) -> str:
    return f"int({_chance('status', number)} * 8)"


def _points(number: int) -> str:
    return f"int({_chance('points', number)} * 10000)"


def _balance(number: int) -> str:
    return f"cast({_chance('balance', number)} * 100000 as decimal(12, 2))"


def _group(rows: int, number: int) -> str:
    return f"int({_chance('group', number)} * {max(1, rows // _GROUP_ROWS)})"


def _second(number: int) -> str:
    return f"int({_chance('at', number)} * 86400)"


def _chance(purpose: str, number: int) -> str:
    """SQL of a number in [0, 1) that depends on the key, the purpose and the round."""
    return f"((xxhash64({KEY}, '{purpose}', {number}) & 2147483647) / 2147483648D)"
