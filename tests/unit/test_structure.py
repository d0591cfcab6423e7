"""Limits for readable code: the size of folders, files and classes, and their dependencies."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("adapter", "iceberg_incremental")
MAX_LINES, MAX_METHODS, MAX_TOP_MODULES = 500, 40, 5
MAX_FLOORS, MAX_MODULES, MIN_LINES = 3, 20, 40

FILES = [
    file for folder in (*PACKAGES, "macros") for file in (ROOT / folder).rglob("*") if file.suffix in (".py", ".sql")
]
MODULES = {file: ast.parse(file.read_text(encoding="utf-8")) for file in FILES if file.suffix == ".py"}
CLASSES = [node for tree in MODULES.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
BY_NAME = {node.name: node for node in CLASSES}

SHORT_FILES = {"iceberg_incremental/explain/index.py": "reads the file entries.json, which is in its folder"}
"""Exceptions, with their reasons."""

MORE_FLOORS = {
    "adapter/hooks": 5,
    "adapter/lineage": 4,
    "adapter/operations": 4,
    "adapter/project": 5,
    "adapter/relations": 5,
    "adapter/spark": 5,
    "adapter/status_page": 4,
    "adapter/watch": 8,
    "iceberg_incremental/capture": 5,
    "iceberg_incremental/command": 5,
    "iceberg_incremental/explain": 4,
    "iceberg_incremental/expose": 8,
    "iceberg_incremental/jvm": 5,
    "iceberg_incremental/metadata": 6,
    "iceberg_incremental/plan": 6,
    "iceberg_incremental/spark": 5,
    "iceberg_incremental/table": 4,
    "iceberg_incremental/write/order": 4,
    "iceberg_incremental/write/strategies": 4,
    "iceberg_incremental/write/versions": 4,
}
"""Folders with more than three floors, and the number of their floors, which must not grow."""

# Base classes whose subclasses only declare attributes.
RECORDS = {"Protocol", "NamedTuple", "TypedDict"}


class Import(NamedTuple):
    """An import of a file. ``is_lazy``: within a function. ``is_for_types``: only for type checkers."""

    file: Path
    is_lazy: bool
    is_for_types: bool


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _module(file: Path) -> str:
    """The name by which others import a file."""
    *folders, name = file.relative_to(ROOT).with_suffix("").parts
    parts = folders if name == "__init__" else [*folders, name]
    return ".".join(["dbt.adapters.spark_iceberg", *parts[1:]] if parts[0] == "adapter" else parts)


def _imports(file: Path) -> Iterator[Import]:
    """The imports of files of this project."""
    package = _module(file.parent / "__init__.py").split(".")

    def found(nodes: list[ast.stmt], is_lazy: bool, is_for_types: bool) -> Iterator[Import]:
        for node in nodes:
            if isinstance(node, ast.ImportFrom):
                base = package[: len(package) - node.level + 1] if node.level else []
                module = ".".join([*base, *filter(None, [node.module])])
                for each in node.names:
                    imported = BY_MODULE.get(f"{module}.{each.name}") or BY_MODULE.get(module)
                    if imported is not None:
                        yield Import(imported, is_lazy, is_for_types)
            elif isinstance(node, ast.Import):
                for each in node.names:
                    if each.name in BY_MODULE:
                        yield Import(BY_MODULE[each.name], is_lazy, is_for_types)
            else:
                for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
                inner = [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.stmt)]
                yield from found(inner, is_lazy or isinstance(node, ast.FunctionDef), is_for_types or for_types)

    return found(MODULES[file].body, is_lazy=False, is_for_types=False)


BY_MODULE = {_module(file): file for file in MODULES}
IMPORTS = {file: list(_imports(file)) for file in MODULES}


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


def test_folders_have_few_files():
    counts = Counter(_name(file.parent) for file in MODULES if file.name != "__init__.py")
    found = {folder: count for folder, count in counts.items() if count > MAX_MODULES}
    assert found == {}


def test_no_files_import_each_other_in_a_circle():
    graph = {file: {each.file for each in IMPORTS[file] if not (each.is_lazy or each.is_for_types)} for file in MODULES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(_name(file) for file in reversed(error.args[1])))


def test_files_are_long_enough_or_shared():
    """A short file with one reader belongs in the reader's file."""
    readers = Counter(each for file in MODULES for each in {each.file for each in IMPORTS[file]} - {file})
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found = {
        _name(file)
        for file in MODULES
        if len(file.read_text(encoding="utf-8").splitlines()) < MIN_LINES
        and readers[file] < 2
        and file.name != "__init__.py"
        and not file.name.endswith("_errors.py")
        and f"{_module(file)}:" not in text
    }
    assert found == SHORT_FILES.keys()


def test_folders_have_few_floors():
    """A file on the second floor imports one on the first floor, and one on the third floor imports that."""
    folders = {_name(file.parent) for file in MODULES}
    floors = {folder: _floors(folder) for folder in folders}
    assert {folder: count for folder, count in floors.items() if count > MAX_FLOORS} == MORE_FLOORS


def _floors(folder: str) -> int:
    files = {file for file in MODULES if _name(file.parent) == folder}
    reads = {file: {each.file for each in IMPORTS[file]} & files - {file} for file in files}
    floors: dict[Path, int] = {}
    for file in TopologicalSorter(reads).static_order():
        floors[file] = 1 + max((floors[each] for each in reads[file]), default=0)
    return max(floors.values())


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
