"""The index of errors contains each error, and each error names its entry."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from iceberg_incremental import errors as tree
from website import DOCS, GENERATED, inline_errors
from website.error_examples import BY_FUNCTION, example, makers, modules
from website.errors import RAISED_BY_SQL

ROOT = Path(__file__).parents[3]
ENGINE = ROOT / "iceberg_incremental"
INDEX = GENERATED[DOCS / "errors.md"]()
MAKERS = [make for module in modules() for make in makers(module)]
CLASSES = {name for name in vars(tree) if name.endswith("Error")} | {"StatementError"}
WRAPPED = {"view", "other_format"}
"""Functions in explain/metadata_errors.py whose errors become parts of other errors, which have an entry."""

CAUGHT = {"OtherRelation", "Refusal", "StatementError", "ValueError"}
"""Error classes that users never see, because the adapter catches them."""
OF_DBT = {"ApproximateMatchError"}
"""Error classes whose messages are from dbt."""


def functions_that_make_errors(path: Path) -> list[ast.FunctionDef]:
    """The public functions of a file that create an error, directly or with a private function of the file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = {
        function.name: {
            each.func.id
            for each in ast.walk(function)
            if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)
        }
        for function in tree.body
        if isinstance(function, ast.FunctionDef)
    }
    private = {name for name, called in calls.items() if name.startswith("_") and called & CLASSES}
    made = {name for name, called in calls.items() if called & (CLASSES | private)} - private
    return [each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name in made]


def classes_raised(path: Path) -> set[str]:
    """The names of the error classes that a file instantiates in `raise` statements."""
    raised = (each.exc for each in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(each, ast.Raise))
    called = {exc.func.id for exc in raised if isinstance(exc, ast.Call) and isinstance(exc.func, ast.Name)}
    return {name for name in called if name[0].isupper()}


def test_the_index_contains_each_error_class_that_the_adapter_raises():
    files = [path for path in (ROOT / "adapter").rglob("*.py") if path.name != "as_dbt.py"]
    raised = set().union(*map(classes_raised, files))
    assert raised - inline_errors.RAISED <= CAUGHT | OF_DBT


def test_errors_of_a_run_are_created_only_in_explain():
    elsewhere = [
        f"{path.relative_to(ROOT)}: {function.name}"
        for path in ENGINE.rglob("*.py")
        if path.parent.name != "explain"
        for function in functions_that_make_errors(path)
    ]
    assert elsewhere == []


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_the_last_line_of_an_error_names_an_entry_of_the_index(make):
    error, entry = example(make), make.__name__.replace("_", "-")
    if make.__name__ in WRAPPED:
        assert error.name == ""
        return
    assert error.msg.splitlines()[-1] == f"  More: dbt-spark-iceberg explain {entry}"
    assert f"\n### {entry}\n" in INDEX


def test_names_of_entries_are_unique():
    counts = Counter(make.__name__ for make in MAKERS)
    assert [name for name, times in counts.items() if times > 1] == []


def test_each_example_belongs_to_an_existing_error():
    assert set(BY_FUNCTION) <= {make.__name__ for make in MAKERS}


@pytest.mark.parametrize("text", RAISED_BY_SQL)
def test_messages_raised_by_sql_occur_in_the_code(text):
    sources = [*ENGINE.rglob("*.py"), *(ROOT / "adapter").rglob("*.py"), *(ROOT / "macros").rglob("*.sql")]
    code = "".join(path.read_text(encoding="utf-8") for path in sources)
    fixed = max(text.partition("›")[::2], key=len).strip()
    assert fixed.replace("_last_updated_sequence_number", "{_LINEAGE}") in code
