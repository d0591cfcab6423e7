"""The ``dbt.ip_…`` calls of a Python model. As with dbt's ``dbt.ref`` calls, all arguments must be literals.

Changes are captured before the model's code runs, so calls must be found without running it. All calls are captured,
even under conditions. If the code does not execute a call that reads changes, the run fails.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import project_errors
from .jinja import Reference

_MODULE = "dbt"


@dataclass(frozen=True)
class Parent:
    """A ``dbt.ref(…)`` or ``dbt.source(…)`` in an argument. ``version``: the version in a ref."""

    reference: Reference
    version: object = None


@dataclass(frozen=True)
class PythonCall:
    """A call of one of the functions. In its arguments, refs and sources are Parents. Other arguments are values."""

    name: str
    positional: tuple[Any, ...]
    named: Mapping[str, Any]

    def argument(self, name: str, place: int) -> Any:
        """An argument by name or position. None if it is missing."""
        return self.named.get(name, self.positional[place] if place < len(self.positional) else None)

    def parents(self, argument: str = "relation", place: int = 0) -> tuple[Parent, ...]:
        """The refs and sources in an argument, which may be a list."""
        value = self.argument(argument, place)
        return tuple(each for each in (value if isinstance(value, list) else [value]) if isinstance(each, Parent))


def calls_in(source: str, names: Sequence[str], model: str) -> Iterator[PythonCall]:
    """The calls ``dbt.name(…)`` of these functions in a model's text, in order.

    Raises ConfigError for a call whose arguments are not literals, or that has no ref or source.
    """
    found = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and _called(node) in names]
    for node in sorted(found, key=lambda each: (each.lineno, each.col_offset)):
        name = str(_called(node))
        try:
            call = _call(name, node)
        except ValueError as error:
            raise project_errors.not_literal(name, model, node.lineno, ast.unparse(node)) from error
        if not call.parents():
            raise project_errors.not_literal(name, model, node.lineno, ast.unparse(node))
        yield call


def require_known(source: str, names: Sequence[str], model: str) -> None:
    """Raise ConfigError if a model's text calls a function ``dbt.ip_…`` that is not in ``names``."""
    for node in ast.walk(ast.parse(source)):
        name = _called(node) or ""
        if isinstance(node, ast.Call) and name.startswith("ip_") and name not in names:
            raise project_errors.unknown_function(name, names, model, node.lineno)


def key_of(name: str, positional: Sequence[Any], named: Mapping[str, Any]) -> str:
    """The identity of a call: its name and arguments. Relations have their names in Spark."""
    return json.dumps([name, list(positional), dict(named)], sort_keys=True, default=str)


def _called(node: ast.AST) -> str | None:
    """The name in ``dbt.name(…)``. None for other nodes."""
    function = node.func if isinstance(node, ast.Call) else None
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == _MODULE:
        return function.attr
    return None


def _call(name: str, node: ast.Call) -> PythonCall:
    if any(each.arg is None for each in node.keywords):
        raise ValueError("arguments by **")
    return PythonCall(
        name, tuple(_value(each) for each in node.args), {str(each.arg): _value(each.value) for each in node.keywords}
    )


def _value(node: ast.expr) -> Any:
    """The value of an argument. Raises ValueError if it is not a literal."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_value(each) for each in node.elts]
    kind = _called(node)
    if isinstance(node, ast.Call) and kind in ("ref", "source"):
        version = next((each.value for each in node.keywords if each.arg in ("v", "version")), None)
        names = tuple(str(ast.literal_eval(each)) for each in node.args)
        return Parent(Reference(kind, names), None if version is None else ast.literal_eval(version))
    return ast.literal_eval(node)
