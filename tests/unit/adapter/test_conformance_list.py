"""Each base class of dbt-tests-adapter is subclassed, or the README.md beside the tests states why not."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import dbt.tests.adapter
import pytest
from dbt.contracts.graph import nodes

PACKAGE = Path(next(iter(dbt.tests.adapter.__path__)))
ROOT = Path(__file__).parents[3]
SUBCLASSES = Path("tests/functional/adapter/conformance")
NAMED = re.compile(r"`(\w+(?:::\w+)?)`")
# importing dbt's tests emits warnings that this project does not cause
pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(not hasattr(nodes, "FunctionNode"), reason="some classes need dbt-core 1.11"),
]


def classes(root: Path, files: str) -> Iterator[type]:
    """The classes in the Python files of a folder, including imported classes."""
    prefix = "dbt.tests.adapter" if root == PACKAGE else ".".join(root.relative_to(ROOT).parts)
    for file in sorted(root.rglob(files)):
        name = ".".join([prefix, *file.relative_to(root).with_suffix("").parts])
        yield from (each for each in vars(import_module(name)).values() if inspect.isclass(each))


def own_tests(of: type) -> set[str]:
    return {name for name in vars(of) if name.startswith("test_")}


def bases() -> set[type]:
    """dbt's classes with tests, except example subclasses, which are named Test… and have no tests of their own."""
    return {
        each
        for each in classes(PACKAGE, "*.py")
        if any(map(own_tests, each.__mro__)) and (own_tests(each) or not each.__name__.startswith("Test"))
    }


def ours() -> set[type]:
    return {each for each in classes(ROOT / SUBCLASSES, "test_*.py") if each.__module__.startswith("tests.")}


def listed() -> set[str]:
    """The classes and tests in the first column of the table "What cannot apply" of the README.md beside the tests."""
    page = (ROOT / SUBCLASSES / "README.md").read_text(encoding="utf-8")
    table = page.partition("## What cannot apply")[2].partition("\n## ")[0]
    return {name for row in table.splitlines() for name in NAMED.findall(row.split("|")[1] if "|" in row else "")}


def test_each_base_class_is_subclassed_or_listed_with_a_reason():
    subclassed = {base for each in ours() if each.__name__.startswith("Test") for base in each.__mro__}
    missing = {each.__name__ for each in bases() - subclassed}
    assert missing <= listed(), sorted(missing - listed())


def test_each_overridden_test_is_listed():
    replaced = {
        f"{base.__name__}::{name}"
        for each in ours()
        for name in own_tests(each)
        for base in each.__mro__[1:]
        if name in own_tests(base)
    }
    assert replaced <= listed(), sorted(replaced - listed())


def test_each_listed_class_exists_in_dbt():
    theirs = {each.__name__ for each in classes(PACKAGE, "*.py")}
    found = {name.partition("::")[0] for name in listed()}
    assert found
    assert found <= theirs, sorted(found - theirs)
