"""Whether two rows have the same key, as a join condition that Spark's hash joins are quick with."""

from __future__ import annotations

from collections.abc import Sequence

from ..sql import sql_name

_BYTES = {"int": 4, "date": 4, "bigint": 8}
_MOST_PACKED = 8


def fits_one_number(types: Sequence[str]) -> bool:
    """Whether keys of these types, by Spark's names, can be packed into one long."""
    return sum(_BYTES.get(type_, _MOST_PACKED + 1) for type_ in types) <= _MOST_PACKED


def same_key(left: str, right: str, names: Sequence[str], types: Sequence[str], *, nulls: bool) -> str:
    """The condition over two aliases; ``types`` are Spark's names. ``nulls``: whether NULL is the same as NULL.

    Spark packs keys of whole numbers into one long where they fit (HashJoin.rewriteKeyExpr), for which it has a hash
    map of half the cost; but not dates, which are given as numbers of days for that, and nothing that <=> compares.
    """
    sign = "<=>" if nulls else "="
    packs = not nulls and fits_one_number(types)

    def value(alias: str, name: str, type_: str) -> str:
        column = f"{alias}.{sql_name(name)}"
        return f"unix_date({column})" if packs and type_ == "date" else column

    return " and ".join(
        f"{value(left, name, type_)} {sign} {value(right, name, type_)}"
        for name, type_ in zip(names, types, strict=True)
    )
