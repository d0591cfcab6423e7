"""Reduces a query with a wrong result, as long as the result stays wrong.

Each round of the search replays the history of the sources in a new project, with all smaller queries as models. There
are two runs: one after all steps before the failing run, and the failing run itself.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import sqlglot
from sqlglot import exp

from tests.functional.fuzz.pipeline import WrongResultError
from tests.functional.incremental.shop import Shop

from .histories import PlainHistory, PlainModel
from .pipeline import PlainPipeline, Wrong
from .qualify import with_derived_tables

_AT_ONCE = 20
_NAME = re.compile(r"<<(\w+)>>")
_WRITTEN = re.compile(r"\brel__(\w+)\b")


def reduced(wrong: Wrong, new_shop: Callable[[], Shop], seconds: int = 900) -> str:
    """The smallest query found whose result is still wrong, with the error."""
    end = time.monotonic() + seconds
    smallest, message = with_derived_tables(wrong.model.sql), wrong.message
    found = _still_wrong(wrong, [smallest], new_shop)
    if not found:
        return "It is right when only the failing round is played again."
    while found and time.monotonic() < end:
        smallest, message = found[0]
        found, tried = [], sorted({*_smaller(smallest)}, key=len)
        for at in range(0, len(tried), _AT_ONCE):
            found = _still_wrong(wrong, tried[at : at + _AT_ONCE], new_shop)
            if found or time.monotonic() > end:
                break
    return f"Reduced to: {smallest}\n{message}"


def _still_wrong(wrong: Wrong, queries: list[str], new_shop: Callable[[], Shop]) -> list[tuple[str, str]]:
    """The queries whose results are wrong, shortest first."""
    rounds = wrong.history.rounds[: wrong.round + 1]
    before = tuple(step for steps in rounds[:-1] for step in steps)
    redefined = wrong.history.redefined[: wrong.round + 1]
    views = [{name: sql for each in redefined[:-1] for name, sql in each.items()}, *redefined[-1:]]
    models = [*_read(wrong.history, wrong.model)]
    tried = {f"{wrong.model.name}_try{at}": sql for at, sql in enumerate(queries)}
    models += [replace(wrong.model, name=name, sql=sql) for name, sql in tried.items()]
    history = replace(
        wrong.history,
        models=tuple(models),
        rounds=(before, rounds[-1]) if before else (rounds[-1],),
        redefined=tuple(views if before else views[-1:]),
    )
    pipeline = PlainPipeline(new_shop(), [history], seed=0)
    with contextlib.suppress(WrongResultError):
        pipeline.play()
    found = [
        (tried[each.model.name], each.message)
        for each in pipeline.wrong
        if each.model.name in tried and _kind(each.message) == _kind(wrong.message)
    ]
    return sorted(found, key=lambda each: len(each[0]))


def _kind(message: str) -> str:
    """The kind of an error: rows, columns, or a failure."""
    return message.partition(": ")[2][:12]


def _read(history: PlainHistory, model: PlainModel) -> Iterator[PlainModel]:
    """The models that a model reads, directly or indirectly, in the order in which they are built."""
    needed = {model.name}
    for each in reversed(history.models):
        if each.name in needed:
            needed |= {*_NAME.findall(each.sql)}
    for each in history.models:
        if each.name in needed and each.name != model.name:
            yield each


def _smaller(sql: str) -> Iterator[str]:
    """The variants of a query without one of its parts."""
    tree = sqlglot.parse_one(_NAME.sub(r"rel__\1", sql), dialect="spark")
    longest = len(tree.sql(dialect="spark"))  # it may be longer than the query itself
    for at in range(sum(1 for _ in tree.walk())):
        for change in _CHANGES:
            for choice in range(8):
                copy = tree.copy()
                its = next(each for place, each in enumerate(copy.walk()) if place == at)
                result = change(its, choice)
                if result is None:
                    break
                text = (result if result is not its or its.parent is None else copy).root().sql(dialect="spark")
                if len(text) < longest:
                    yield _WRITTEN.sub(r"<<\1>>", text)


def _without_item(node: exp.Expr, choice: int) -> exp.Expr | None:
    """A SELECT, a GROUP BY or a function without one of its expressions."""
    items = node.expressions if isinstance(node, (exp.Select, exp.Group, exp.In, exp.Coalesce)) else []
    if len(items) < 2 or choice >= len(items):
        return None
    items[choice].pop()
    return node


def _without_clause(node: exp.Expr, choice: int) -> exp.Expr | None:
    """A SELECT without one of its clauses, joins or CTEs."""
    if not isinstance(node, exp.Query):
        return None
    named = [node.args.get(name) for name in ("where", "having", "group", "order", "distinct", "with_")]
    clauses = [each for each in named if isinstance(each, exp.Expr)]
    clauses += [*node.args.get("joins", []), *node.args.get("laterals", [])]
    if choice >= len(clauses):
        return None
    clauses[choice].pop()
    return node


def _child(node: exp.Expr, choice: int) -> exp.Expr | None:
    """A part in place of the whole: an operand, a branch of a union, the query in a CTE."""
    if isinstance(node, exp.CTE):
        return node.this.pop() if choice == 0 else None
    if not isinstance(node, (exp.Condition, exp.SetOperation)) or isinstance(node, (exp.Column, exp.Select)):
        return None
    kind = exp.Query if isinstance(node, exp.Query) else exp.Condition
    parts = [each for each in node.iter_expressions() if isinstance(each, kind)]
    if choice >= len(parts):
        return None
    part = parts[choice].copy()
    if node.parent is None:
        return part
    node.replace(part)
    return part


def _whole(node: exp.Expr, choice: int) -> exp.Expr | None:
    """A derived table in place of the whole query."""
    if choice or not isinstance(node, exp.Subquery) or node.parent is None:
        return None
    return node.this.pop()


_CHANGES = (_whole, _without_clause, _child, _without_item)
