"""Commands, YAML, JSON and Python in the pages are accepted by what reads them."""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml
from dbt.cli.main import cli as dbt

from dbt.adapters.spark_iceberg.watch.command_line import cli as adapter
from iceberg_incremental.command.arguments import parsed
from website import DOCS
from website.reference import _signature

BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
SIDE_BY_SIDE = re.compile(r"^# before +# after$", re.MULTILINE)
ENDS = {";", "&&", "||", "|", ">", ">>", "case"}


def blocks(*languages: str) -> Iterator[tuple[str, str]]:
    for path in (DOCS.parent / "README.md", *sorted(DOCS.glob("*.md"))):
        for found in BLOCK.finditer(path.read_text(encoding="utf-8")):
            if found[2] in languages:
                yield path.name, found[3]


def commands() -> Iterator[tuple[str, list[str]]]:
    """The commands of the pages that this package or dbt reads, each up to a redirection or the next command."""
    for page, text in blocks("bash", "sh", "shell", "console"):
        for line in re.sub(r"\\\n", " ", text).splitlines():
            if re.match(r" *(?:\$ )?(?:\S*/)?(?:dbt|dbt-spark-iceberg|iceberg-incremental) ", line):
                words = shlex.split(line.strip().removeprefix("$ "), comments=True)
                end = next((at for at, word in enumerate(words) if word in ENDS), len(words))
                yield page, [Path(words[0]).name, *words[1:end]]


def accept(group: click.Group, words: list[str]) -> dict[str, object]:
    """The parameters of a command. Raises click.UsageError for what is not understood."""
    context = group.make_context("", list(words), resilient_parsing=False)
    name, command, rest = group.resolve_command(context, [*context._protected_args, *context.args])
    assert command is not None
    return command.make_context(name, rest, parent=context).params


@pytest.mark.parametrize(("page", "words"), [*commands()], ids=lambda each: each if isinstance(each, str) else each[1])
def test_commands_are_accepted(page, words, tmp_path, monkeypatch):
    monkeypatch.setenv("DBT_PROFILES_DIR", str(tmp_path))  # the default need not exist
    program, *rest = words
    if program == "iceberg-incremental":
        parsed(rest)
        return
    given = accept(adapter if program == "dbt-spark-iceberg" else dbt, rest)
    operation = given.get("macro")
    if isinstance(operation, str) and operation.startswith("ip_"):
        assert (given["args"] or {}).keys() <= {
            each.partition("=")[0].strip() for each in _signature(operation).split(",")
        }


@pytest.mark.parametrize("text", [text for _, text in blocks("yaml") if not SIDE_BY_SIDE.search(text)])
def test_yaml_is_yaml(text):
    assert yaml.safe_load(text)


@pytest.mark.parametrize("text", [text for _, text in blocks("json")])
def test_json_is_json(text):
    assert json.loads(text)


@pytest.mark.parametrize("text", [text for page, text in blocks("python") if page != "watch.md"])
def test_python_compiles(text):
    """Except for excerpts of the examples, which have tests of their own."""
    compile(textwrap.dedent(text), "<page>", "exec")
