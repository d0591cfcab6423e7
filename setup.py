"""Builds the distribution: the engine, the adapter, the dbt package and the macros, each from its own folder.

``dbt``, ``dbt.adapters`` and ``dbt.include`` belong to dbt, so their ``__init__.py`` files are not included.
"""

from __future__ import annotations

import re
from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).parent
ENGINE = "iceberg_incremental"
ADAPTER = "dbt.adapters.spark_iceberg"
INCLUDE = "dbt.include.spark_iceberg"
MACROS = f"{INCLUDE}.macros"
RELATIVE_LINK = re.compile(r"(?<!!)\[([^]]+)\]\((?![a-z]+:)[^)]+\)")
DOCS = "The pages that this text names are in the folder `docs` of the source distribution.\n"


def version() -> str:
    """The version in adapter/__version__.py, read without importing dbt."""
    text = (ROOT / "adapter" / "__version__.py").read_text(encoding="utf-8")
    found = re.search(r'^version = "([^"]+)"$', text, re.MULTILINE)
    if not found:
        raise SystemExit('adapter/__version__.py: expected a line of the form: version = "1.2.3"')
    return found.group(1)


def macro_packages() -> list[str]:
    """The folders of macros/ as package names, so that their files are package data."""
    folders = {file.parent.relative_to(ROOT / "macros") for file in (ROOT / "macros").rglob("*.*")}
    return sorted(".".join((MACROS, *folder.parts)) for folder in folders)


def long_description() -> str:
    """README.md for a package index. Relative links become plain text, because the index has no other files."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return RELATIVE_LINK.sub(r"\1", text) + "\n" + DOCS


setup(
    version=version(),
    long_description=long_description(),
    long_description_content_type="text/markdown",
    packages=[
        ENGINE,
        *(f"{ENGINE}.{package}" for package in find_packages(str(ROOT / ENGINE))),
        ADAPTER,
        *(f"{ADAPTER}.{package}" for package in find_packages(str(ROOT / "adapter"))),
        INCLUDE,
        *macro_packages(),
    ],
    package_dir={ENGINE: ENGINE, ADAPTER: "adapter", INCLUDE: "dbt/include/spark_iceberg", MACROS: "macros"},
    package_data={"": ["*.sql", "*.yml", "*.html", "*.css", "*.js", "*.json", "py.typed"]},
)
