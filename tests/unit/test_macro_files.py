"""The rules of macros/, which no formatter knows: one public macro a file, named as the file is, and documented."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from dbt.adapters.spark_iceberg.incremental.operations.arguments import ARGUMENTS

MACROS = Path(__file__).parents[2] / "macros"
FILES = sorted(MACROS.rglob("*.sql"))
# {% macro name(arguments) %} or {% materialization name, adapter=… %}
BLOCK = re.compile(r"{%-?\s*(?:macro|materialization|test)\s+(?P<name>\w+)\s*(?:\((?P<arguments>[^)]*)\))?")


def arguments_of(block: re.Match[str]) -> list[str]:
    given = block["arguments"] or ""
    return [argument.split("=")[0].strip() for argument in given.split(",") if argument.strip()]


def documented() -> dict[str, dict[str, Any]]:
    files = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in MACROS.rglob("*.yml")]
    return {macro["name"]: macro for file in files for macro in file["macros"]}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_holds_the_macro_of_its_name_and_else_only_private_ones(path: Path) -> None:
    # an override of a macro of dbt's is named for the adapter, and its file may be named for the macro alone
    own = {path.stem, f"spark_iceberg__{path.stem}"}
    names = [block["name"] for block in BLOCK.finditer(path.read_text(encoding="utf-8"))]
    assert len([name for name in names if name in own]) == 1
    assert all(name.startswith("_") for name in names if name not in own)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_is_formatted(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    for number, line in enumerate(text.splitlines(), start=1):
        assert line == line.rstrip().expandtabs(), f"line {number}: a tab, or a space at its end"
        assert len(line) <= 120, f"line {number}: {len(line)} characters, more than 120"
        assert (len(line) - len(line.lstrip())) % 2 == 0, f"line {number}: indented by an odd number of spaces"


@pytest.mark.parametrize("path", [path for path in FILES if path.stem.startswith("ip_")], ids=lambda path: path.stem)
def test_a_macro_for_models_and_operations_is_documented_with_its_arguments(path: Path) -> None:
    (block,) = (b for b in BLOCK.finditer(path.read_text(encoding="utf-8")) if b["name"] == path.stem)
    macro = documented().get(path.stem)
    assert macro is not None, f"macros/_macros.yml does not document {path.stem}"
    assert macro.get("description", "").strip()
    assert [argument["name"] for argument in macro.get("arguments", [])] == arguments_of(block)
    assert all(argument.get("description", "").strip() for argument in macro.get("arguments", []))


@pytest.mark.parametrize("path", [path for path in FILES if path.stem.startswith("ip_")], ids=lambda path: path.stem)
def test_a_macro_for_models_and_operations_names_its_arguments_where_it_gets_others(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    (block,) = (b for b in BLOCK.finditer(text) if b["name"] == path.stem)
    assert arguments_of(block) == list(ARGUMENTS[path.stem])
    assert f'adapter.ip_require_arguments("{path.stem}", varargs, kwargs)' in text


def test_what_is_documented_exists() -> None:
    assert set(documented()) <= {path.stem for path in FILES}
