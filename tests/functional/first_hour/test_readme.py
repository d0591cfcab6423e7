"""The first project of the README: its files and its commands, as they stand there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.functional.first_hour.project import WAREHOUSE, dbt, write

README = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
SECTION = README.partition("## A first project\n")[2].partition("\n## ")[0]
FILES = re.findall(r"^```\w+\n(?:--|#) (\S+)\n(.*?)^```$", SECTION, re.DOTALL | re.MULTILINE)
COMMANDS = [
    shlex.split(line, comments=True)[1:]
    for line in re.findall(r"^dbt .*$", SECTION, re.MULTILINE)
    if not line.startswith("dbt init")
]


@pytest.mark.thorough
def test_the_files_and_commands_of_the_first_project(tmp_path):
    project = write(tmp_path, {}, WAREHOUSE)
    for name, text in FILES:
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(text)

    said = [dbt(project, *command) for command in COMMANDS]

    _, first, _, status, second, third = said
    assert "OK 1,000 rows" in first
    assert "flights_staged), epoch 1: applies what is pending" in status
    assert "pending (append): 1 snapshot, " in status and ", 1,000 rows, " in status
    assert "OK 1,000 rows" in second
    assert "NOTHING NEW" in third
