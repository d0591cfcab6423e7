"""Code blocks of README and docs that no other test runs are valid: their syntax, and the operations that they call."""

from __future__ import annotations

import ast
import re
from textwrap import dedent

import pytest
import yaml
from _pytest.mark import ParameterSet

from dbt.adapters.spark_iceberg.operations.arguments import ARGUMENTS
from website import DOCS

BLOCK = re.compile(r"^(?P<indent> *)```(?P<language>\w+)\n(?P<code>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
OPERATION = re.compile(r"dbt run-operation (?P<name>\w+)(?: --args '(?P<arguments>[^']*)')?")
PAGES = [DOCS.parent / "README.md", *sorted(page for page in DOCS.glob("*.md") if page.name != "errors.md")]


def blocks(*languages: str) -> list[ParameterSet]:
    """The code blocks in these languages, as parameters of a test."""
    return [
        pytest.param(dedent(found["code"]), id=f"{page.name} {number}")
        for page in PAGES
        for number, found in enumerate(BLOCK.finditer(page.read_text(encoding="utf-8")), start=1)
        if found["language"] in languages
    ]


@pytest.mark.parametrize("code", blocks("yaml", "yml"))
def test_yaml_is_valid(code: str):
    assert list(yaml.safe_load_all(code))


@pytest.mark.parametrize("code", blocks("python"))
def test_python_is_valid(code: str):
    assert ast.parse(dedent(code)).body


def test_operations_and_their_arguments_exist():
    called = [
        (f"{page.name}: {found[0]}", found["name"], yaml.safe_load(found["arguments"] or "{}"))
        for page in PAGES
        for found in OPERATION.finditer(page.read_text(encoding="utf-8"))
        if found["name"].startswith("ip_")
    ]
    assert len(called) > 10
    assert [text for text, name, arguments in called if not arguments.keys() <= set(ARGUMENTS.get(name, ()))] == []
