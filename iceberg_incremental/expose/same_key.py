"""A join condition for equal keys that is fast in Spark's hash joins."""

from __future__ import annotations

from collections.abc import Sequence

from ..sql import sql_name

_BYTES = {"int": 4, "date": 4, "bigint": 8}
_MOST_PACKED = 8


def fits_one_number(types: Sequence[str]) -> bool:
    """Whether keys of these Spark types can be packed into one long."""
    return sum(_BYTES.get(type_, _MOST_PACKED + 1) for type_ in types) <= _MOST_PACKED


def same_key(left: str, right: str, names: Sequence[str], types: Sequence[str], *, nulls: bool) -> str:
    """The condition that rows of two aliases have the same key.

    ``types``: the Spark types of the key columns. ``nulls``: whether NULL equals NULL.

    If keys of integers fit into one long, Spark packs them (HashJoin.rewriteKeyExpr). Its hash map for longs costs half
    as much as that for rows. Spark does not pack dates, which are therefore converted to numbers of days. It also does
    not pack keys that are compared by <=>.
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
