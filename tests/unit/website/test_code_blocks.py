"""Each code block of the pages is checked by a parser of its language. A block that no parser accepts fails."""

from __future__ import annotations

import configparser
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import sqlglot
from dbt_common.ui import COLORS
from sqlglot import exp

from dbt.adapters.spark_iceberg.project.model_config import policy_of
from dbt.adapters.spark_iceberg.project.sqlglot_dialect import SparkIceberg
from iceberg_incremental.plan.policy import MATERIALIZATION
from website.reference import _signature

from . import settings, shell, sql
from .blocks import NOT_RUN, Block, all_blocks, blocks
from .outputs import OUTPUTS

ROOT = Path(__file__).parents[3]
EXAMPLES = [path.read_text(encoding="utf-8") for path in (ROOT / "examples").rglob("*.py")]
RUN_WITH_SPARK = {("tutorial.md", "| region | ordered_on"): "tests/functional/first_hour/test_tutorial.py"}
"""Tests that compare output with what dbt prints. The keys are the page and the first characters of the block."""
CRONTAB = re.compile(r"^(?:[\d*]+ ){5}(?P<command>.+)$", re.MULTILINE)
VARYING = re.compile(
    rf"^\d\d:\d\d:\d\d  |(?<=run ended in )[\d.]+|^…\n|{'|'.join(map(re.escape, COLORS.values()))}", re.MULTILINE
)
"""Parts of the output that are not compared: times of day, durations of runs, lines of `…`, and colors."""


def read_shell(block: Block) -> None:
    script = re.sub(r"^\$ ", "", block.text, flags=re.MULTILINE)
    subprocess.run(["bash", "-n"], input=script, text=True, check=True, capture_output=True)
    found = [*shell.commands(script)]
    assert found
    for command in found:
        shell.read(command)


def read_yaml(block: Block) -> None:
    settings.read(block.text)


def read_sql(block: Block) -> None:
    """Parse SQL with the package's own dialect, or compare it with the file that it names."""
    if block.text.startswith("-- integration_tests/"):
        path, _, text = block.text.removeprefix("-- ").partition("\n")
        assert (ROOT / path).read_text(encoding="utf-8") == text
        return
    parts = [part for part in sql.parts() if part.block == block]
    assert parts
    for statement in (each for part in parts if part.folder != "macros" for each in sql.rendered(part)):
        for tree in sqlglot.parse(statement, dialect=SparkIceberg):
            assert not isinstance(tree, exp.Command | None), f"sqlglot cannot parse {statement}"


def read_python(block: Block) -> None:
    """Compile a block, unless it is an excerpt of an example, because other tests run the examples."""
    if not any(block.text in example for example in EXAMPLES):
        compile(block.text, "<page>", "exec")


def read_unit(block: Block) -> None:
    """Check the command of a systemd service."""
    found = configparser.ConfigParser(interpolation=None)
    found.optionxform = str  # type: ignore[assignment, method-assign]
    found.read_string(block.text)
    for command in shell.commands(found["Service"]["ExecStart"]):
        shell.read(command)


def read_text(block: Block) -> None:
    """Check output, two profiles side by side, or a crontab."""
    if beside := [*settings.side_by_side(block.text)]:
        for each in beside:
            settings.read(each)
    elif lines := CRONTAB.findall(block.text):
        for command in (command for line in lines for command in shell.commands(line)):
            shell.read(command)
    elif run := [test for (page, start), test in RUN_WITH_SPARK.items() if is_at(block, page, start)]:
        assert block.page in (ROOT / run[0]).read_text(encoding="utf-8")
    else:
        (printed,) = [output for (page, start), output in OUTPUTS.items() if is_at(block, page, start)]
        assert VARYING.sub("", block.text.rstrip("\n")) == VARYING.sub("", printed())


def is_at(block: Block, page: str, start: str) -> bool:
    return block.page == page and block.text.startswith(start)


READERS: Mapping[str, Callable[[Block], object]] = {
    **dict.fromkeys(("bash", "console", "sh", "shell"), read_shell),
    "ini": read_unit,
    "json": lambda block: json.loads(block.text),
    "python": read_python,
    "sql": read_sql,
    "text": read_text,
    "yaml": read_yaml,
}


@pytest.mark.parametrize("block", [*blocks()], ids=str)
def test_each_block_is_valid(block, tmp_path, monkeypatch):
    monkeypatch.setenv("DBT_PROFILES_DIR", str(tmp_path))  # the default folder may not exist
    READERS[block.language](block)


@pytest.mark.parametrize(("page", "start"), NOT_RUN)
def test_blocks_without_a_test_exist(page, start):
    assert len([block for block in all_blocks() if is_at(block, page, start)]) == 1


@pytest.mark.parametrize(("page", "start"), [*OUTPUTS, *RUN_WITH_SPARK])
def test_each_output_belongs_to_one_block(page, start):
    assert len([block for block in blocks("text") if is_at(block, page, start)]) == 1


def test_dbt_parses_the_models_and_their_properties(tmp_path):
    """dbt runs without Java. The materialization must also accept the configs of the models."""
    sql.write_project(tmp_path)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("DBT_")}
    environment |= {"PATH": "/nonexistent", "JAVA_HOME": "/nonexistent", "DBT_PROFILES_DIR": str(tmp_path)}
    command = [sys.executable, "-c", "from dbt.cli.main import cli; cli()", "--warn-error", "parse"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

    manifest = json.loads((tmp_path / "target" / "manifest.json").read_text(encoding="utf-8"))
    paths = {node["original_file_path"] for kind in ("nodes", "macros") for node in manifest[kind].values()}
    assert {f"{part.folder}/{part.name}.sql" for part in sql.parts() if part.folder is not None} <= paths
    for test in (node for node in manifest["nodes"].values() if node["resource_type"] == "test"):
        name, kwargs = test["test_metadata"]["name"], test["test_metadata"]["kwargs"]
        assert kwargs.keys() <= {each.partition("=")[0].strip() for each in _signature(name).split(",")}
    ours = [node for node in manifest["nodes"].values() if node["config"].get("materialized") == MATERIALIZATION]
    assert len(ours) > 20
    for node in ours:
        policy_of(node["config"], node["unique_id"])
