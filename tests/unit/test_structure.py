"""Limits for readable code: the size of files and classes, and the dependencies of classes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("adapter", "iceberg_incremental")
MAX_LINES, MAX_METHODS, MAX_TOP_MODULES = 500, 40, 5
MAX_FLOORS, MAX_MODULES = 3, 15

FILES = [
    file for folder in (*PACKAGES, "macros") for file in (ROOT / folder).rglob("*") if file.suffix in (".py", ".sql")
]
MODULES = {file: ast.parse(file.read_text(encoding="utf-8")) for file in FILES if file.suffix == ".py"}
CLASSES = [node for tree in MODULES.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
BY_NAME = {node.name: node for node in CLASSES}

# Base classes whose subclasses only declare attributes.
RECORDS = {"Protocol", "NamedTuple", "TypedDict"}


def _bases(node: ast.ClassDef) -> set[str]:
    """The unqualified names of a class's bases, such as ``Protocol`` for ``typing.Protocol[T]``."""
    return {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases}


def _ancestry(node: ast.ClassDef) -> Iterator[ast.ClassDef]:
    """A class and its ancestors in this project."""
    yield node
    for name in _bases(node) - {node.name}:
        if name in BY_NAME:
            yield from _ancestry(BY_NAME[name])


def _functions(node: ast.ClassDef) -> list[ast.FunctionDef]:
    return [each for each in node.body if isinstance(each, ast.FunctionDef)]


def _assigned(node: ast.ClassDef) -> set[str]:
    """The attributes that are set by a class's methods."""
    found = [each for function in _functions(node) for each in ast.walk(function) if isinstance(each, ast.Attribute)]
    return {each.attr for each in found if isinstance(each.ctx, ast.Store) and ast.unparse(each.value) == "self"}


def _has_two_parents(node: ast.ClassDef) -> bool:
    """Whether a class inherits from several classes of the project, not counting protocols and records."""
    return len({name for name in _bases(node) if name in BY_NAME and not _bases(BY_NAME[name]) & RECORDS}) > 1


def _relies_on_others(node: ast.ClassDef) -> bool:
    """Whether a class declares an attribute that it does not set. Parents from other projects may set it."""
    is_record = _bases(node) & RECORDS or any("dataclass" in ast.unparse(each) for each in node.decorator_list)
    if is_record or _bases(node) - BY_NAME.keys() - {"ABC"}:
        return False
    declared = {
        ast.unparse(each.target) for each in node.body if isinstance(each, ast.AnnAssign) and each.value is None
    }
    return not declared <= _assigned(node)


def test_files_are_short():
    lines = {str(file.relative_to(ROOT)): len(file.read_text(encoding="utf-8").splitlines()) for file in FILES}
    assert lines and {name: count for name, count in lines.items() if count > MAX_LINES} == {}


@pytest.mark.parametrize("folder", ["", "text", "algebra", "rules"])
def test_queries_are_in_small_folders_of_three_floors(folder):
    """A file on the second floor imports one on the first floor, and one on the third floor imports that."""
    path = ROOT / "iceberg_incremental" / "query" / folder
    names = {file.stem for file in path.glob("*.py")}
    reads = {name: _siblings(MODULES[path / f"{name}.py"]) & names for name in names}
    floors: dict[str, int] = {}
    while len(floors) < len(names):
        found = {name for name in names - floors.keys() if reads[name] <= floors.keys()}
        assert found, f"{sorted(names - floors.keys())} import each other in a circle"
        floors |= dict.fromkeys(found, max(floors.values(), default=0) + 1)
    assert max(floors.values()) <= MAX_FLOORS and len(names) <= MAX_MODULES


def _siblings(tree: ast.Module) -> set[str]:
    """The modules of its own folder that a module imports."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level == 1]
    return {(node.module or each.name).partition(".")[0] for node in found for each in node.names}


def test_few_modules_are_at_the_top_of_the_adapter():
    assert len(list((ROOT / "adapter").glob("*.py"))) <= MAX_TOP_MODULES


def test_classes_have_few_methods():
    counts = {node.name: len({each.name for part in _ancestry(node) for each in _functions(part)}) for node in CLASSES}
    assert {name: count for name, count in counts.items() if count > MAX_METHODS} == {}


def test_no_class_is_a_mixin():
    assert [node.name for node in CLASSES if _has_two_parents(node) or _relies_on_others(node)] == []


def test_layers_have_no_exceptions():
    assert "ignore_imports" not in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_development_md_lists_every_folder():
    folders = [file.parent for package in PACKAGES for file in (ROOT / package).glob("*/__init__.py")]
    text = (ROOT / "DEVELOPMENT.md").read_text(encoding="utf-8")
    assert [folder for folder in folders if f"`{folder.relative_to(ROOT)}/`" not in text] == []
