"""The README matches the package's metadata about extras and the oldest dbt-core."""

from __future__ import annotations

import re
from importlib.metadata import metadata

import pytest

from website import DOCS

README = (DOCS.parent / "README.md").read_text(encoding="utf-8")
PACKAGE = metadata("dbt-spark-iceberg")


@pytest.mark.parametrize("extra", PACKAGE.get_all("Provides-Extra") or ())
def test_each_extra_is_explained(extra):
    install = README.partition("\n## Install\n")[2].partition("\n## ")[0]
    assert extra.lower() in [name.lower() for name in re.findall(r"`(\w+)`", install)]


def test_the_oldest_dbt_core():
    (needed,) = [each for each in PACKAGE.get_all("Requires-Dist") if each.startswith("dbt-core")]
    oldest = re.search(r">=([\d.]+)", needed)[1]
    assert f"dbt-core {oldest} or later" in README
