"""The first project of the README: its blocks, pasted into a shell."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.functional.first_hour.project import dbt

README = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
SECTION = README.partition("\n## A first project\n")[2].partition("\n## ")[0]
FILES, COMMANDS = re.findall(r"^```bash\n(.*?)^```$", SECTION, re.DOTALL | re.MULTILINE)


@pytest.mark.thorough
def test_the_files_and_commands_of_the_first_project(tmp_path):
    subprocess.run(["bash", "-euc", FILES], cwd=tmp_path, check=True)

    commands = [shlex.split(line, comments=True) for line in COMMANDS.splitlines()]
    assert {command for command, *_ in commands} == {"dbt"}
    said = [dbt(tmp_path / "shop", *arguments) for _, *arguments in commands]

    _, first, _, status, second, third = said
    assert "OK 1,000 rows" in first
    assert "flights_staged), epoch 1: applies what is pending" in status
    assert "pending (append): 1 snapshot, " in status and ", 1,000 rows, " in status
    assert "OK 1,000 rows" in second
    assert "NOTHING NEW" in third
