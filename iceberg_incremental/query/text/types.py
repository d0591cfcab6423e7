"""The types of a query's values, as far as they can be determined without Spark. None if they cannot."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from ...table.types import INTEGERS, Trait, traits
from .dialect import PlainSpark

_WHOLE = tuple(INTEGERS)

_BOOLEAN = (
    exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ,
    exp.Is, exp.Like, exp.ILike, exp.RegexpLike, exp.Between, exp.In, exp.Exists, exp.Boolean,
)  # fmt: skip
SOME_MAP = "map<>"
"""The type of a map that a function returns. Its keys and values may have any type."""
_FIXED = {
    name: type_
    for type_, listed in {
        "bigint": "count count_if unix_seconds unix_millis unix_micros xxhash64",
        "int": "row_number rank dense_rank ntile length char_length len year quarter month day dayofmonth dayofweek "
        "dayofyear hour minute weekofyear weekday datediff date_diff unix_date size cardinality array_size ascii "
        "instr locate position int",
        "boolean": "any some every bool_and bool_or isnull isnotnull isnan startswith endswith contains array_contains",
        "string": "lower lcase upper ucase trim btrim ltrim rtrim concat_ws replace regexp_replace regexp_extract "
        "substring_index translate initcap date_format md5 sha1 sha2 split_part format_string repeat string",
        "double": "acos asin atan atan2 cbrt cos degrees double exp ln log log10 log2 months_between pow power radians "
        "rint sin sqrt tan",
        SOME_MAP: "map map_concat map_filter map_from_arrays map_from_entries map_zip_with transform_keys "
        "transform_values",
        "map<string,string>": "str_to_map",
        "timestamp": "ip_clock_timestamp",
        "timestamp_ntz": "ip_clock_local",
        "date": "ip_clock_date to_date date_add date_sub add_months last_day next_day make_date date "
        "date_from_unix_date",
    }.items()
    for name in listed.split()
}
_OF_FIRST = frozenset(
    ("max", "min", "first", "last", "any_value", "first_value", "last_value", "nth_value", "lag", "lead", "max_by",
     "min_by", "nullif", "mode")
)  # fmt: skip
_OF_ALL = frozenset(("coalesce", "nvl", "ifnull", "greatest", "least"))
_OF_INNER = (exp.Paren, exp.BitwiseNot, exp.Window, exp.Filter, exp.IgnoreNulls)
_PARTS = ("year", "quarter", "month", "week", "day", "hour", "minute")
_NUMERIC = (exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor)


def tells_apart(type_: str | None) -> bool:
    """Whether values of a type can be sorted, and values that are equal in this order are identical."""
    return type_ is not None and Trait.EXACT in traits(type_)


def have_one_type(type_: str | None, other: str | None) -> bool:
    """Whether two types are known to be equal, or are both types of whole numbers, which are compared exactly.

    A decimal without its precision may be of another type than another one.
    """
    return type_ is not None and ((type_ == other and type_ != "decimal") or {type_, other} <= {*_WHOLE})


class Types:
    """The types of expressions. ``columns``: those of columns, by the alias and the name; None if unknown."""

    def __init__(self) -> None:
        self.columns: dict[tuple[str, str], str | None] = {}

    def of(self, node: exp.Expr) -> str | None:
        """The type of an expression, in lower case. A decimal may lack its precision."""
        if isinstance(node, _BOOLEAN):
            return "boolean"
        if isinstance(node, _OF_INNER):
            return self.of(node.this)
        if isinstance(node, _NUMERIC):
            return common_type([self.of(node.this), self.of(node.expression)], numbers=True)
        rule = self._rules.get(type(node))
        return None if rule is None else rule(node)

    @property
    def _rules(self) -> Mapping[type[exp.Expr], Callable[..., str | None]]:
        return {
            exp.Anonymous: self._of_call,
            exp.Case: self._of_case,
            exp.Cast: _of_cast,
            exp.Column: self._of_column,
            exp.Distinct: lambda node: self.of(node.expressions[0]) if len(node.expressions) == 1 else None,
            exp.Div: self._of_quotient,
            exp.DPipe: lambda node: self._of_text(node) and self._of_text(node, "expression"),
            exp.Extract: lambda node: "int" if node.name.lower() in _PARTS else None,
            exp.IntDiv: lambda _: "bigint",
            exp.Literal: _of_literal,
            exp.Neg: lambda node: common_type([self.of(node.this)], numbers=True),  # of text, it is a double
            exp.Substring: self._of_text,
            exp.Trim: self._of_text,
            exp.TryCast: _of_cast,
        }

    def _of_quotient(self, node: exp.Div) -> str | None:
        found = common_type([self.of(node.this), self.of(node.expression)], numbers=True)
        return "decimal" if found == "decimal" else None if found is None else "double"

    def _of_text(self, node: exp.Expr, key: str = "this") -> str | None:
        return "string" if self.of(node.args[key]) == "string" else None

    def _of_case(self, node: exp.Case) -> str | None:
        values = [each.args["true"] for each in node.args.get("ifs") or ()]
        values += [node.args["default"]] if node.args.get("default") is not None else []
        return self._of_values(values)

    def _of_call(self, node: exp.Anonymous) -> str | None:
        name, values = node.name.lower(), node.expressions
        if values and isinstance(values[0], exp.Var):  # a unit
            return "bigint" if name in ("datediff", "date_diff", "timestampdiff") else None
        if name in _FIXED:
            is_known = _FIXED[name] != "string" or all(tells_apart(self.of(each)) for each in values)
            return _FIXED[name] if is_known else None  # a string may have the collation of another string
        if name in _OF_ALL:
            return self._of_values(values)
        if name == "if":
            return self._of_values(values[1:])
        first = self.of(values[0]) if values else None
        if name in _OF_FIRST:
            return first
        if name in ("sum", "try_sum", "abs") and first is not None:
            whole = first if name == "abs" else "bigint"
            return whole if first in _WHOLE else "decimal" if first.startswith("decimal") else None
        return None

    def _of_values(self, values: Sequence[exp.Expr]) -> str | None:
        """The common type of several values."""
        return common_type([self.of(each) for each in values if not isinstance(each.unnest(), exp.Null)])

    def _of_column(self, column: exp.Column) -> str | None:
        return self.columns.get((column.table, column.name))


def _of_cast(node: exp.Cast | exp.TryCast) -> str | None:
    return str(node.to.sql(PlainSpark)).lower()


def _of_literal(node: exp.Literal) -> str | None:
    if node.is_string:
        return "string"
    if node.name.isdigit():
        return "int" if len(node.name) < 10 else "bigint" if len(node.name) < 19 else None
    return "decimal" if re.fullmatch(r"[\d.]+", node.name) else None


def common_type(types: Sequence[str | None], *, numbers: bool = False) -> str | None:
    """The common type of several types. ``numbers``: whether the values are used in arithmetic."""
    known = [each for each in types if each is not None]
    if not known or len(known) < len(types):
        return None
    if all(each in _WHOLE for each in known):
        return max(known, key=_WHOLE.index)
    if all(each in _WHOLE or each.startswith("decimal") for each in known):
        return "decimal"
    if numbers and all(each in (*_WHOLE, "double") or each.startswith("decimal") for each in known):
        return "double"
    return known[0] if not numbers and len(set(known)) == 1 else None
