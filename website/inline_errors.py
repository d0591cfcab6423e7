"""Finds the texts of errors that the adapter's code raises directly, for the profile, connections and catalogs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

ADAPTER = Path(__file__).parents[1] / "adapter"
RAISED = {
    "DbtRuntimeError", "DbtDatabaseError", "FailedToConnectError", "InterruptError",
    "InvalidCatalogIntegrationConfigError", "ValidationError",
}  # fmt: skip
"""The classes of these errors."""
_SHORTEST = 20
"""The minimum length of the adapter's own texts. Shorter texts only precede or follow a message of Spark."""


def texts(file: str) -> list[str]:
    """The distinct messages of the errors that a file of the adapter raises. Names of variables are enclosed in ‹›."""
    tree = ast.parse((ADAPTER / file).read_text(encoding="utf-8"))
    known = _constants(file)
    found = dict.fromkeys(text for function in ast.walk(tree) for text in _of_function(function, known))
    return [text for text in found if len(text) >= _SHORTEST]


def files() -> list[str]:
    """The files of the adapter that raise errors with their own texts."""
    paths = (path.relative_to(ADAPTER).as_posix() for path in sorted(ADAPTER.rglob("*.py")))
    return [path for path in paths if texts(path)]


def _of_function(node: ast.AST, known: dict[str, ast.expr]) -> Iterator[str]:
    if not isinstance(node, ast.FunctionDef):
        return
    known = known | _texts_named(list(ast.walk(node)))
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id in RAISED and each.args:
            yield _text(each.args[-1], known)
        elif isinstance(each, ast.Return) and node.name.endswith("_error") and each.value is not None:
            yield _text(each.value, known)


def _constants(file: str) -> dict[str, ast.expr]:
    """The named text and number constants of the file's module."""
    name = file.removesuffix(".py").replace("/", ".")
    module = import_module(f"dbt.adapters.spark_iceberg.{name}")
    known = vars(module).items()
    return {name: ast.Constant(value) for name, value in known if name.isupper() and isinstance(value, (str, int))}


def _texts_named(nodes: list[ast.AST]) -> dict[str, ast.expr]:
    """The texts that are assigned to names. Names with several assignments are omitted."""
    found: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.targets[0].id, []).append(node.value)
    return {name: values[0] for name, values in found.items() if len(values) == 1 and _is_text(values[0])}


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _text(node: ast.expr, known: dict[str, ast.expr]) -> str:
    """The text of an expression. Empty if the expression is not a text."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part, known) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return _varying(node.value, known)
    return ""


def _varying(node: ast.expr, known: dict[str, ast.expr]) -> str:
    if isinstance(node, ast.Name):
        return _text(known[node.id], known) if node.id in known else f"‹{node.id}›"
    if isinstance(node, ast.Attribute):
        return f"‹{node.attr}›"
    return "…"
