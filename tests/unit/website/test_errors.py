"""Each error has an entry, which its last line names, and a page."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from iceberg_incremental import errors as tree
from website import DOCS, GENERATED, errors
from website.error_examples import BY_FUNCTION, example, makers, modules

ROOT = Path(__file__).parents[3]
INDEX = GENERATED[DOCS / "errors.md"]()
MAKERS = [make for module in modules() for make in makers(module)]
CLASSES = {name for name in vars(tree) if name.endswith("Error")} - {"StatementError"}
WRAPPED = {"view", "other_format"}
"""Functions in explain/metadata_errors.py whose errors become parts of other errors, which have an entry."""
MAX_WORDS = 12_100


def created(path: Path) -> set[str]:
    """The names of the error classes of incremental processing that a file instantiates."""
    calls = (each.func for each in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(each, ast.Call))
    return {each.id for each in calls if isinstance(each, ast.Name)} & CLASSES


def test_errors_are_created_in_the_modules_of_errors():
    """They are in the engine's explain/ and in folders of the adapter, whose other errors are those of dbt."""
    files = [path for folder in ("iceberg_incremental", "adapter") for path in (ROOT / folder).rglob("*.py")]
    found = {path.relative_to(ROOT).as_posix() for path in files if created(path)}
    assert found == {path.relative_to(ROOT).as_posix() for path in files if path.stem.endswith("_errors")}


def test_each_public_function_that_creates_an_error_has_an_entry():
    """Its return type is the class of the error, by which the index finds it."""
    files = [path for folder in ("iceberg_incremental", "adapter") for path in (ROOT / folder).rglob("*_errors.py")]
    found = {name for path in files for name in creating(path)}
    assert found == {make.__name__ for make in MAKERS}


def creating(path: Path) -> set[str]:
    """The public functions of a file that instantiate an error class, directly or by a private function."""
    functions = [each for each in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(each, ast.FunctionDef)]
    called = {
        each.name: {ast.unparse(call.func) for call in ast.walk(each) if isinstance(call, ast.Call)}
        for each in functions
    }
    private = {name for name, names in called.items() if name.startswith("_") and names & CLASSES}
    return {name for name, names in called.items() if names & (CLASSES | private) and not name.startswith("_")}


def test_one_function_lays_out_messages():
    files = [path for folder in ("iceberg_incremental", "adapter") for path in (ROOT / folder).rglob("*.py")]
    found = [path.relative_to(ROOT).as_posix() for path in files if "To fix:" in path.read_text(encoding="utf-8")]
    assert found == ["iceberg_incremental/errors.py"]


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_the_last_line_of_an_error_names_an_entry_of_the_index(make):
    error, entry = example(make), make.__name__.replace("_", "-")
    if make.__name__ in WRAPPED:
        assert error.name == ""
        return
    assert error.msg.splitlines()[-1] == f"  More: dbt-spark-iceberg explain {entry}"
    assert f"\n- [{entry}](errors/{entry}.md): " in INDEX


def test_names_of_entries_are_unique():
    counts = Counter(make.__name__ for make in MAKERS)
    assert [name for name, times in counts.items() if times > 1] == []


def test_each_example_belongs_to_an_existing_error():
    assert set(BY_FUNCTION) <= {make.__name__ for make in MAKERS}


def test_each_link_belongs_to_an_existing_error():
    assert set(errors._MORE) <= set(errors.MADE)


def test_the_pages_are_those_of_existing_errors():
    assert {path.stem for path in (DOCS / "errors").glob("*.md")} == set(errors.MADE)


def test_the_index_and_the_pages_are_short():
    pages = [DOCS / "errors.md", *(DOCS / "errors").glob("*.md")]
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in pages) <= MAX_WORDS
