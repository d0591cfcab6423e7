"""Texts that Spark replaces by a time that depends on the day of the statement, such as ``'today'``.

Spark does so where it casts a constant text to a date or a timestamp. Such a cast can be implicit, as in ``day <
'today'`` and ``last_day('today')``, and a constant can be an expression without columns, such as ``lower('TODAY')``.
Text from columns, derived tables and subqueries is never replaced.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator

from sqlglot import exp

from . import functions
from .dialect import PlainSpark, may_be_moment
from .refusal import not_a_function
from .types import SOME_MAP, Types

_TIME = re.compile(r"date|time")
"""Types with times. The names of a struct's fields may match too."""

_MOST_TEXTS = 100

_PASSED_ON = (
    exp.Alias, exp.Any, exp.Concat, exp.Distinct, exp.Dot, exp.DPipe, exp.Escape, exp.Filter, exp.Group, exp.ILike,
    exp.IgnoreNulls, exp.Is, exp.Lambda, exp.Like, exp.Ordered, exp.Overlay, exp.Paren, exp.RegexpLike,
    exp.RespectNulls, exp.Select, exp.StrPosition, exp.Substring, exp.Trim, exp.Tuple, exp.Values, exp.Window,
)  # fmt: skip
"""Nodes that cast no text to a time."""

_COMPARED = (
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Between, exp.In,
    exp.Bracket,
)  # fmt: skip
"""Nodes that cast no text to a time, unless another operand has a type with times."""

_OF_OPERANDS = (exp.Alias, exp.Bracket, exp.Dot, exp.Paren, exp.Tuple)
_LITERALS = (exp.Literal, exp.RawString)
_COMPUTED = (
    exp.Anonymous, exp.Bracket, exp.Case, exp.Cast, exp.Concat, exp.Dot, exp.DPipe, exp.Overlay, exp.Paren,
    exp.Substring, exp.Trim, exp.TryCast, exp.Tuple,
)  # fmt: skip
"""Nodes that may be text."""

TypeOf = Callable[[exp.Expr], "str | None"]


def require_no_moment(*trees: exp.Expr, types: Types | None = None) -> None:
    """Raise NotAFunction for a text in trees that Spark may replace by a time. ``types``: as in ``moment_in``."""
    for tree in trees:
        found = moment_in(tree, types)
        if found is not None:
            construct = f"{shown(found)}, which Spark may interpret as the time of the run"
            raise not_a_function(
                construct, found, "compare with a value from a source, or cast compared text to string"
            )


def moment_in(tree: exp.Expr, types: Types | None = None) -> exp.Expr | None:
    """A text in a tree that Spark may replace by a time. None without one.

    ``types``: the types of the tree's values. Without them, only the types of functions and casts are known.
    """
    known = (types or Types()).of
    return next((node for node in tree.walk(bfs=False) if _may_be_moment(node, known)), None)


def shown(moment: exp.Expr) -> str:
    """A text, or an expression that returns one, in a message."""
    return f"'{moment.name}'" if isinstance(moment, _LITERALS) else f"the text {moment.sql(PlainSpark)[:60]}"


def _may_be_moment(node: exp.Expr, type_of: TypeOf) -> bool:
    """Whether a node is a constant text that Spark may replace, and that its parent may cast to a time."""
    if not isinstance(node, (*_LITERALS, *_COMPUTED)) or not _is_constant(node):
        return False
    texts = _texts(node, type_of)
    return (texts is None or any(map(may_be_moment, texts))) and not _stays_text(node, type_of)


def _is_constant(node: exp.Expr) -> bool:
    """Whether an expression has no columns, subqueries or variables of a lambda around it."""
    variables = set()
    around = node.find_ancestor(exp.Lambda)
    while around is not None:
        variables |= {each.name.lower() for each in around.expressions}
        around = around.find_ancestor(exp.Lambda)
    return not any(
        isinstance(each, (exp.Column, exp.Query, exp.Star))
        or (isinstance(each, exp.Identifier) and each.name.lower() in variables)
        for each in node.walk()
    )


def _texts(node: exp.Expr, type_of: TypeOf) -> set[str] | None:
    """The texts in the value of a constant, or in its elements. None if they are not known."""
    if isinstance(node, _LITERALS):
        return {node.name}
    if isinstance(node, exp.HexString):
        return None
    type_ = type_of(node)
    name = node.name.lower() if isinstance(node, exp.Anonymous) else ""
    has_text = type_ in (None, SOME_MAP) or re.search("string|char", type_ or "") is not None
    if name in functions.WITHOUT_TEXT or not has_text or not any(map(_is_letters, node.walk())):
        return set()
    if isinstance(node, (exp.Concat, exp.DPipe)) or name == "concat":
        return _joined([_texts(each, type_of) for each in _values(node)])
    if name in functions.OF_ARGUMENTS or isinstance(node, (*_OF_OPERANDS, exp.Case, exp.If)):
        found = [_texts(each, type_of) for each in _values(node)]
        return None if None in found else {text for each in found if each is not None for text in each}
    return None if isinstance(node, _COMPUTED) else set()


def _is_letters(node: exp.Expr) -> bool:
    """Whether a node may contribute letters to a text."""
    is_text = isinstance(node, (exp.HexString, exp.RawString)) or (isinstance(node, exp.Literal) and node.is_string)
    return is_text or (isinstance(node, exp.Anonymous) and node.name.lower() in ("char", "chr", "conv"))


def _joined(parts: list[set[str] | None]) -> set[str] | None:
    """The texts that consist of one text of each part."""
    known = [each for each in parts if each]
    if not parts or len(known) < len(parts):
        return None
    texts = {"".join(each) for each in itertools.islice(itertools.product(*known), _MOST_TEXTS + 1)}
    return None if len(texts) > _MOST_TEXTS else texts


def _values(node: exp.Expr) -> list[exp.Expr]:
    """The values that a node reads: the arguments of a function, the operands of an operator."""
    return [each for each in node.iter_expressions() if not isinstance(each, (exp.DataType, exp.Identifier, exp.Var))]


def _stays_text(node: exp.Expr, type_of: TypeOf) -> bool:
    """Whether the parent of a constant text casts it to no time."""
    above = node.parent
    if above is None:
        return True
    if isinstance(above, exp.Anonymous):
        name = above.name.lower()
        is_of_one_type = name in functions.OF_ONE_TYPE and _has_no_times(_others(node, above), type_of)
        return name in functions.OF_TEXT or is_of_one_type
    if isinstance(above, (exp.Cast, exp.TryCast)):
        return _TIME.search(str(above.to.sql(PlainSpark)).lower()) is None
    if isinstance(above, (exp.Case, exp.If)):
        return _has_no_times(_of_case(node), type_of)
    if isinstance(above, _COMPARED):
        return _has_no_times(_others(node, above), type_of)
    return isinstance(above, _PASSED_ON)


def _others(node: exp.Expr, above: exp.Expr) -> Iterator[exp.Expr]:
    return (each for each in above.iter_expressions() if each is not node and not isinstance(each, exp.Var))


def _of_case(node: exp.Expr) -> list[exp.Expr]:
    """The values of a CASE that Spark casts to one type with a value."""
    above = node.parent
    case = above.parent if isinstance(above, exp.If) and isinstance(above.parent, exp.Case) else above
    assert case is not None
    branches = case.args.get("ifs") or ([case] if isinstance(case, exp.If) else [])
    results = [*(each.args.get("true") for each in branches), case.args.get("default"), case.args.get("false")]
    compared = [case.this, *(each.this for each in branches)]
    listed = results if any(each is node for each in results) else compared
    return [each for each in listed if isinstance(each, exp.Expr) and each is not node]


def _has_no_times(values: Iterator[exp.Expr] | list[exp.Expr], type_of: TypeOf) -> bool:
    """Whether values are known to have types without times."""
    types = [type_of(each) for each in values if not isinstance(each.unnest(), exp.Null)]
    return all(each not in (None, SOME_MAP) and _TIME.search(str(each)) is None for each in types)
