"""Spark's SQL as sqlglot reads it for queries that are kept up to date.

Function calls are kept as they are written, name and arguments: sqlglot knows many functions by what they are in other
dialects, and would write another call for some of them. What a function is, ``functions`` knows.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.dialects.spark import Spark

_UNITS = frozenset(
    "year quarter month week day dayofyear hour minute second millisecond microsecond years quarters months weeks days "
    "hours minutes seconds milliseconds microseconds".split()
)
_WITH_UNIT = frozenset("timestampadd timestampdiff dateadd datediff date_add date_diff".split())
_SYNTAX = ("CAST", "EXTRACT", "OVERLAY", "POSITION", "SUBSTR", "SUBSTRING", "TRIM", "TRY_CAST")
"""Functions whose arguments are separated by keywords."""


class PlainSpark(Spark):
    """Spark SQL with verbatim function calls."""

    class Tokenizer(Spark.Tokenizer):
        """Two quotes within a literal stand for one, as in Spark 4."""

        STRING_ESCAPES = ["\\", "'", '"']  # noqa: RUF012 (sqlglot's own form)

    class Parser(Spark.Parser):
        """A parser that knows no function by its name."""

        FUNCTIONS = {}  # noqa: RUF012
        NO_PAREN_FUNCTIONS = {}  # noqa: RUF012
        FUNCTION_PARSERS = {  # noqa: RUF012
            name: parser for name, parser in Spark.Parser.FUNCTION_PARSERS.items() if name in _SYNTAX
        }
        NO_PAREN_FUNCTION_PARSERS = {  # noqa: RUF012
            name: parser for name, parser in Spark.Parser.NO_PAREN_FUNCTION_PARSERS.items() if name == "CASE"
        }


def with_units(tree: exp.Expr) -> exp.Expr:
    """The tree with the units of ``timestampadd(DAY, …)`` and its kin as words, which would be read as columns."""
    for call in tree.find_all(exp.Anonymous):
        first = call.expressions[0] if len(call.expressions) == 3 else None
        if call.name.lower() in _WITH_UNIT and isinstance(first, exp.Column) and first.name.lower() in _UNITS:
            first.replace(exp.var(first.name))
    return tree
