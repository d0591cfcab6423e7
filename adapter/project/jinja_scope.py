"""The values that the Jinja of a dbt project can read: macros, variables, the target, and the environment."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from .conditional_reads import Macros

if TYPE_CHECKING:
    from dbt.config.runtime import RuntimeConfig

_OWN_PACKAGES = ("dbt", "dbt_spark", "dbt_spark_iceberg")


@dataclass(frozen=True)
class JinjaScope:
    """The values that Jinja can read.

    ``macros``: the result of ``own_macros``. ``variables``: returns the values of ``var()`` in a package, by name.
    ``target``: the attributes of ``target``. ``environment``: the environment variables.
    """

    macros: Macros = field(default_factory=dict)
    variables: Callable[[str], Mapping[str, Any]] = lambda package: {}
    target: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, config: RuntimeConfig, macros: Iterable[Any]) -> JinjaScope:
        """The scope of a project. ``macros``: the macros in dbt's manifest."""

        def variables(package: str) -> Mapping[str, Any]:
            # As in dbt, --vars override the project, which overrides the package.
            node: Any = SimpleNamespace(package_name=package)  # dbt reads only this attribute
            found: dict[str, Any] = {}
            if package != config.project_name and package in (packages := config.load_dependencies()):
                found |= packages[package].vars.vars_for(node, "")
            return {**found, **config.vars.vars_for(node, ""), **config.cli_vars}

        return cls(own_macros(macros), variables, config.to_target_dict(), os.environ)


def own_macros(macros: Iterable[Any]) -> Macros:
    """The SQL of the macros of the project and its packages by name, without those of dbt and its adapters.

    ``macros``: the macros in dbt's manifest. A partial parse moves the macros of an edited file to the end, so the
    texts of macros with the same name are sorted.
    """
    found: dict[str, list[str]] = {}
    for macro in macros:
        if macro.package_name not in _OWN_PACKAGES:
            for name in _names_of(macro.name):
                found.setdefault(name, []).append(macro.macro_sql)
    return {name: sorted(texts) for name, texts in found.items()}


def _names_of(macro: str) -> set[str]:
    """The names by which a macro can be called. For example, ``dispatch('f')`` finds ``default__f``.

    Both ``f`` and the prefix may contain underscores: ``default___f``, ``spark_iceberg__my__f``.
    """
    places = (at for at in range(1, len(macro) - 2) if macro.startswith("__", at))
    return {macro, *(macro[at + 2 :] for at in places)}
