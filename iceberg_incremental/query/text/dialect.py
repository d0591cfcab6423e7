"""The sqlglot dialect for queries that are updated incrementally: Spark's SQL.

Function calls are kept verbatim, because sqlglot would translate some functions to calls of other dialects.
``functions`` contains their properties.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark

_UNIT = ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "microsecond")
_UNITS = frozenset((*_UNIT, *(f"{each}s" for each in _UNIT), "dayofyear"))
_WITH_UNIT = frozenset(("timestampadd", "timestampdiff", "dateadd", "datediff", "date_add", "date_diff"))
_SYNTAX = ("CAST", "EXTRACT", "OVERLAY", "POSITION", "SUBSTR", "SUBSTRING", "TRIM", "TRY_CAST")
"""Functions whose arguments are separated by keywords."""

_TRIMMED = "".join(map(chr, range(33)))
"""The characters that Spark removes at the start and the end of such a text."""

_MOMENT = re.compile(r"(?i:now)|(?i:today|tomorrow|yesterday)(?:[ \t]+[A-Z+-]\S*|[+-]\S*)?")
"""A trimmed text that Spark replaces. All but ``now`` may be followed by a time zone, whose case matters."""


class PlainSpark(Spark):
    """Spark SQL with verbatim function calls."""

    class Tokenizer(Spark.Tokenizer):
        """Two quotes within a literal represent one quote, as in Spark 4."""

        STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']

    class Generator(Spark.Generator):  # type: ignore[valid-type, misc]  # an attribute of the class
        """A generator of the types of Spark 4."""

        TYPE_MAPPING: ClassVar[dict[Any, str]] = {**Spark.Generator.TYPE_MAPPING, exp.DType.TIME: "TIME"}
        TRANSFORMS: ClassVar[dict[Any, Any]] = {
            **Spark.Generator.TRANSFORMS,
            exp.BitwiseLeftShift: lambda self, each: self.binary(each, "<<"),
            exp.BitwiseRightShift: lambda self, each: self.binary(each, ">>"),
        }

    class Parser(Spark.Parser):  # type: ignore[valid-type, misc]  # an attribute of the class
        """A parser without built-in functions."""

        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        ARRAY_CONSTRUCTORS: ClassVar[dict[str, Any]] = {}
        NO_PAREN_FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: parser for name, parser in Spark.Parser.FUNCTION_PARSERS.items() if name in _SYNTAX
        }
        NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: parser for name, parser in Spark.Parser.NO_PAREN_FUNCTION_PARSERS.items() if name == "CASE"
        }


def with_whole_intervals(tree: exp.Expr) -> exp.Expr:
    """The tree with parentheses around intervals of several units, which sqlglot reads as sums."""
    for each in list(tree.find_all(exp.Add)):
        above = each.parent
        if isinstance(above, (exp.Mul, exp.Div, exp.Neg)) or (
            isinstance(above, exp.Sub) and each.arg_key == "expression"
        ):
            each.replace(exp.paren(each.copy()))
    return tree


def with_units(tree: exp.Expr) -> exp.Expr:
    """The tree with the units of ``timestampadd(DAY, …)`` and similar functions as words, not as columns."""
    for call in tree.find_all(exp.Anonymous):
        first = call.expressions[0] if len(call.expressions) == 3 else None
        if call.name.lower() in _WITH_UNIT and isinstance(first, exp.Column) and first.name.lower() in _UNITS:
            first.replace(exp.var(first.name))
    return tree


def may_be_moment(text: str) -> bool:
    """Whether Spark replaces a constant text by a time that depends on the day of the statement."""
    return _MOMENT.fullmatch(text.strip(_TRIMMED)) is not None
