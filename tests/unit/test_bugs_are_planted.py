"""The bugs that nightly tests plant. Each must still replace something that the code reads."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FUZZ = "tests.functional.fuzz"
PLANTING = (
    *("edit_holes", "holes", "net_holes", "plain_holes", "sequence_holes", "snapshot_holes"),
    *("test_log_versions", "test_planted_bugs", "test_versions"),
)
FILES = [
    *(file for package in ("adapter", "iceberg_incremental") for file in (ROOT / package).rglob("*.py")),
    ROOT / "tests" / "functional" / "fuzz" / "reading.py",  # replaces functions by others, which it looks up
]
ATTRIBUTES = {
    node.attr
    for file in FILES
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    if isinstance(node, ast.Attribute)
}


def _plants() -> Iterator[Any]:
    """The functions that plant a bug: their only parameter is ``monkeypatch``."""
    for name in PLANTING:
        module = import_module(f"{FUZZ}.{name}")
        for each, function in inspect.getmembers(module, inspect.isfunction):
            is_own = function.__module__ == module.__name__ and not each.startswith(("_", "test_"))
            if is_own and list(inspect.signature(function).parameters) == ["monkeypatch"]:
                yield pytest.param(function, id=f"{name}-{each}")


def _names_in(code: CodeType) -> set[str]:
    """The global names and attributes that some code reads, including its inner functions."""
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    return {*code.co_names, *(name for each in inner for name in _names_in(each))}


def _reads(module: ModuleType, name: str) -> bool:
    """Whether a function of the module reads its global ``name``, or other code may read it as an attribute."""
    code = compile(inspect.getsource(module), module.__name__, "exec")
    functions = [each for each in code.co_consts if isinstance(each, CodeType)]
    return name in ATTRIBUTES or any(name in _names_in(each) for each in functions)


@pytest.mark.parametrize("plant", list(_plants()))
def test_a_planted_bug_replaces_something_that_is_read(monkeypatch, plant: Callable[[Any], None]):
    replaced: list[tuple[Any, str]] = []
    setattr_ = monkeypatch.setattr

    def recording(holder: Any, name: str, value: Any) -> None:
        replaced.append((holder, name))
        setattr_(holder, name, value)

    with pytest.MonkeyPatch.context() as outer:
        outer.setattr(monkeypatch, "setattr", recording)
        plant(monkeypatch)
    assert replaced
    unread = [
        name
        for holder, name in replaced
        if not (_reads(holder, name) if isinstance(holder, ModuleType) else name in ATTRIBUTES)
    ]
    assert unread == []
