"""Rules for macros/ that no formatter checks: one macro per file, one layout, and documentation of public macros.

A file has the name by which its macro is called. Names of private macros begin with ``_``.
"""

from __future__ import annotations

import re
from operator import attrgetter
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import yaml
from dbt.parser.schemas import is_valid_type

from dbt.adapters.spark_iceberg.hooks.macros import ARGUMENTS
from dbt.adapters.spark_iceberg.ip import Hooks
from dbt.adapters.spark_iceberg.relations.collaborators import Relations

MACROS = Path(__file__).parents[2] / "macros"
FILES = sorted(MACROS.rglob("*.sql"))
# {% macro name(arguments) %} or {% materialization name, adapter=… %}
TAG = re.compile(r"{%.*?%}|{{.*?}}", re.DOTALL)
COMMENT = re.compile(r"{#.*?#}", re.DOTALL)
DOUBLE_QUOTED = re.compile(r'"[^"]*"')
SINGLE_QUOTED = re.compile(r"'[^']*'")
CALL = re.compile(r"adapter\.(ip|relations)\.([\w.]+)\(")
BLOCK = re.compile(r"{%-?\s*(?:macro|materialization|test)\s+(?P<name>\w+)\s*(?:\((?P<arguments>[^)]*)\))?")


def arguments_of(block: re.Match[str]) -> list[str]:
    given = block["arguments"] or ""
    return [argument.split("=")[0].strip() for argument in given.split(",") if argument.strip()]


def documented() -> dict[str, dict[str, Any]]:
    files = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in MACROS.rglob("*.yml")]
    return {macro["name"].removeprefix("test_"): macro for file in files for macro in file["macros"]}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_contains_only_the_macro_of_its_name(path: Path) -> None:
    # a macro that dbt dispatches has the adapter's name as a prefix, which the file's name leaves out
    names = [block["name"] for block in BLOCK.finditer(path.read_text(encoding="utf-8"))]
    assert names
    assert set(names) <= {path.stem, f"spark_iceberg__{path.stem}"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_is_formatted(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    for number, line in enumerate(text.splitlines(), start=1):
        assert line == line.rstrip().expandtabs(), f"line {number}: a tab, or a space at its end"
        assert len(line) <= 120, f"line {number}: {len(line)} characters, more than 120"
        assert (len(line) - len(line.lstrip())) % 4 == 0, f"line {number}: not indented by fours"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_jinja_has_one_layout(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for tag in TAG.findall(text):
        assert not SINGLE_QUOTED.search(DOUBLE_QUOTED.sub("", tag)), f"{tag}: text is in double quotes"
        assert "do return(" not in tag, f"{tag}: a macro gives its value by {{{{ return(…) }}}}"
        if re.match(r"{%-?\s*(?:macro|materialization)\b", tag):
            assert re.fullmatch(r"{% .* -%}", tag, re.DOTALL), f"{tag}: it ends with -%}}"
        elif re.match(r"{%-?\s*end(?:macro|materialization)\b", tag):
            assert re.fullmatch(r"{%- \w+ %}", tag), f"{tag}: it begins with {{%-"
        elif re.match(r"{%-?\s*(?:set|do|call|endcall)\b", tag):
            assert re.fullmatch(r"{%- .* -%}", tag, re.DOTALL), f"{tag}: it leaves no white space"
    for comment in COMMENT.findall(text):
        assert re.fullmatch(r"{#- .* -#}|{#-\n    .*\n\s*-#}", comment, re.DOTALL), f"{comment}: {{#- … -#}}"


@pytest.mark.parametrize("path", [path for path in FILES if path.stem.startswith("ip_")], ids=lambda path: path.stem)
def test_each_public_macro_and_its_arguments_are_documented(path: Path) -> None:
    (block,) = (b for b in BLOCK.finditer(path.read_text(encoding="utf-8")) if b["name"] == path.stem)
    macro = documented().get(path.stem)
    assert macro is not None, f"macros/_macros.yml does not document {path.stem}"
    assert macro.get("description", "").strip()
    assert [argument["name"] for argument in macro.get("arguments", [])] == arguments_of(block)
    assert all(argument.get("description", "").strip() for argument in macro.get("arguments", []))


@pytest.mark.parametrize("path", [path for path in FILES if path.stem.startswith("ip_")], ids=lambda path: path.stem)
def test_each_public_macro_rejects_unknown_arguments(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    (block,) = (b for b in BLOCK.finditer(text) if b["name"] == path.stem)
    assert arguments_of(block) == list(ARGUMENTS[path.stem])
    assert f'adapter.ip.capture.require_arguments("{path.stem}", varargs, kwargs)' in text


def test_argument_types_are_valid_in_dbt() -> None:
    """dbt 1.12 and later warn about any other type, in every project that uses the package."""
    types = {
        f"{name}({argument['name']})": argument["type"]
        for name, macro in documented().items()
        for argument in macro.get("arguments", [])
    }
    assert [argument for argument, each in types.items() if not is_valid_type(each)] == []


def test_python_functions_called_by_macros_exist() -> None:
    called: dict[str, Any] = {
        "ip": Hooks(Mock()),
        "relations": Relations(Mock(), "lake", Mock(), Mock(), Mock()),
    }
    for path in FILES:
        for each, name in CALL.findall(path.read_text(encoding="utf-8")):
            assert callable(attrgetter(name)(called[each])), f"{path.stem}: adapter.{each}.{name}"


def test_each_documented_macro_exists() -> None:
    assert set(documented()) <= {path.stem for path in FILES}
