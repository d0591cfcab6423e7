"""The README's first commands, and what it tells about extras and versions, which the package's metadata define."""

from __future__ import annotations

import re
from importlib.metadata import metadata

import pytest

from website import DOCS

README = (DOCS.parent / "README.md").read_text(encoding="utf-8")
PACKAGE = metadata("dbt-spark-iceberg")
REQUIREMENTS = PACKAGE.get_all("Requires-Dist") or []
BLOCKS = re.findall(r"^```bash\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
RUN_BY_CI = (DOCS.parent / ".ci" / "run").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("extra", PACKAGE.get_all("Provides-Extra") or ())
def test_each_extra_is_explained(extra):
    install = README.partition("\n## Install\n")[2].partition("\n## ")[0]
    assert extra.lower() in [name.lower() for name in re.findall(r"`(\w+)`", install)]


def test_the_oldest_dbt_core():
    (needed,) = [each for each in REQUIREMENTS if each.startswith("dbt-core") and "extra ==" not in each]
    oldest = re.search(r">=([\d.]+)", needed)[1]
    assert f"dbt-core {oldest} or later" in README


@pytest.mark.parametrize("extra", ["session", "connect", "PyHive", "ODBC"])
def test_no_extra_installs_a_parser_from_outside_the_package_index(extra):
    """dbt-core 1.12 requires such a parser. See `make readme`, which installs an extra for real."""
    installed = [each for each in REQUIREMENTS if each.lower().endswith(f'extra == "{extra.lower()}"')]
    assert [each.partition(";")[0].strip() for each in installed if each.startswith("dbt-core")] == ["dbt-core<1.12"]


def test_the_readme_starts_with_the_commands_that_ci_runs():
    """One that runs the main job, and one that tests. `make readme` runs the commands of the other blocks."""
    commands = [line.partition("#")[0].strip() for line in BLOCKS[0].splitlines()]
    assert commands == ["make demo", "make test"]
    assert {f"{command} </dev/null" for command in (*commands, "make readme")} <= set(RUN_BY_CI)


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 150
