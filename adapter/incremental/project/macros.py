"""The macros that a project has of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .conditional_reads import Macros

_OWN_PACKAGES = ("dbt", "dbt_spark", "dbt_spark_iceberg")


def own_macros(macros: Iterable[Any]) -> Macros:
    """The SQL of the macros of the project and its packages by name, without those of dbt and its adapters.

    ``macros``: those of dbt's manifest.
    """
    found: dict[str, list[str]] = {}
    for macro in macros:
        if macro.package_name not in _OWN_PACKAGES:
            for name in {macro.name, macro.name.rpartition("__")[2]}:  # default__f is what dispatch('f') finds
                found.setdefault(name, []).append(macro.macro_sql)
    return found
