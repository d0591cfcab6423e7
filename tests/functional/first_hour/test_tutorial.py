"""The first part of docs/tutorial.md: its files, its commands and their output."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.functional.first_hour.project import WAREHOUSE, dbt, write

TUTORIAL = (Path(__file__).parents[3] / "docs" / "tutorial.md").read_text(encoding="utf-8")
SECTION = TUTORIAL.partition("\n## 1. Plain SQL\n")[2].partition("\n## ")[0]
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", SECTION, re.DOTALL | re.MULTILINE)
MACROS, SOURCES, MODEL = (text for language, text in BLOCKS if language in ("sql", "yaml"))
FIRST, SECOND, SHOW = (text.splitlines() for language, text in BLOCKS if language == "bash")
SHOWN = [text for language, text in BLOCKS if language == "text"]


def arguments(line: str) -> list[str]:
    command, *rest = shlex.split(line)
    assert command == "dbt"
    return rest


@pytest.mark.thorough
def test_the_first_part_of_the_tutorial(tmp_path):
    project = write(tmp_path, {"sources.yml": SOURCES, "sales.sql": MODEL}, WAREHOUSE)
    (project / "macros").mkdir()
    (project / "macros" / "shop.sql").write_text(MACROS)
    for line in FIRST:
        printed = dbt(project, *arguments(line))
    assert "captured lakehouse.raw.orders: 1 snapshot, 2 files, 100 rows, " in printed
    estimate = "since finding the affected keys would cost more (estimated CPU time: at least 1.8"
    assert f"all rows are replaced, {estimate}" in printed

    (project / "models" / "sales.sql").write_text(MODEL.replace("'auto')", "'auto', rebuild_above=1)"))
    for line in SECOND:
        printed = dbt(project, *arguments(line))
    assert "captured lakehouse.raw.customers: 1 snapshot, 2 files, at most 100 rows, " in printed
    estimate = "since 8 keys of a table of 32 rows are affected (estimated CPU time: 2.0 s"
    assert f"affected rows are replaced, {estimate}" in printed

    (line,) = SHOW
    assert SHOWN[-1] in dbt(project, *arguments(line))
    assert "NOTHING NEW" in dbt(project, "run")
