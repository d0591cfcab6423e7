"""Warnings about misspelled macros and about configs without effect, before dbt compiles the models."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from typing import Any

from iceberg_incremental.plan.configs import ModelConfigs, NodeConfigs
from iceberg_incremental.plan.policy import MATERIALIZATION, Strategy
from iceberg_incremental.spelling import near_misses

from .macros import ARGUMENTS

_EXPRESSION = re.compile(r"\{[{%].*?[%}]\}", re.DOTALL)
_MATERIALIZATION = re.compile(r"materialization_(?P<name>\w+)_(?:spark_iceberg|spark|default)")
_VARIABLES = frozenset(("compiled_code", "graph", "model", "post_hooks", "pre_hooks", "sql", "this"))
"""The variables that materializations read. A macro of the project with such a name replaces the variable."""
_CALL = re.compile(r"(?<![\w.])(?P<name>ip_\w+)\s*\(")


def warnings(nodes: Sequence[Any], macros: Collection[str], own: Collection[str] = ()) -> Iterator[str]:
    """The warnings of a project. ``macros``: the names of all macros that dbt knows. ``own``: those of the project."""
    for name in _VARIABLES.intersection(own):
        yield f"The macro {name} hides dbt's variable with this name, which views and data tests read: rename it."
    for node in nodes:
        for name, meant in misspelt(str(getattr(node, "raw_code", "")), ARGUMENTS, macros).items():
            yield f"{node.unique_id} calls {name}(), a macro that does not exist: did you mean {meant}()?"
        for name, meant in _misspelt_configs(node).items():
            yield f"{node.unique_id} sets {name}, which has no effect: did you mean {meant}?"
        if similar := _similar_materialization(node, macros):
            materialized = node.config.materialized
            yield f"{node.unique_id} has materialized='{materialized}', which does not exist: did you mean '{similar}'?"
    ours = [node for node in nodes if _is_ours(node)]
    others = [node for node in nodes if not _is_ours(node) and node.resource_type == "model"]
    for name, config in ModelConfigs.table().items():
        ignoring = [node for node in ours if (node.config.get("incremental_strategy") or "append") in config.ignored_by]
        reader = "another incremental_strategy" if Strategy.AUTO in config.ignored_by else "incremental_strategy: auto"
        yield from _without_effect(name, ignoring, reader)
        if config.only_here:
            yield from _without_effect(name, others, f"materialized: {MATERIALIZATION}")


def _without_effect(config: str, nodes: Sequence[Any], reader: str) -> Iterator[str]:
    if named := [str(node.unique_id) for node in nodes if node.config.get(config)]:
        more = f" and {len(named) - 5} more" if len(named) > 5 else ""
        yield f"{config} has no effect on {', '.join(named[:5])}{more}: only {reader} reads it."


def _misspelt_configs(node: Any) -> dict[str, str]:
    """The misspelled configs of a node, each with the intended name. Models of this package refuse most of them."""
    configs, further = ModelConfigs.table(), NodeConfigs.table()
    return near_misses(node.config.extra, further if _is_ours(node) else {**configs, **further}, configs)


def _is_ours(node: Any) -> bool:
    return bool(node.resource_type == "model" and node.config.materialized == MATERIALIZATION)


def _similar_materialization(node: Any, macros: Collection[str]) -> str | None:
    """The materialization that a model probably means, if its own does not exist. dbt's error names none."""
    name = str(node.config.materialized)
    found = [match["name"] for match in map(_MATERIALIZATION.fullmatch, macros) if match is not None]
    if node.resource_type != "model" or name in found or not found:
        return None
    longer = [each for each in found if name in each]
    similar = get_close_matches(name, longer or found, 1, 0 if longer else 0.6)
    return similar[0] if similar else None


def misspelt(raw_code: str, ours: Collection[str], known: Collection[str]) -> dict[str, str]:
    """The misspelled names of this package's macros that a model calls, each with the intended name.

    ``raw_code``: the text of the model's file. ``ours``: the names of this package's macros. ``known``: the names of
    all macros that dbt knows.
    """
    return near_misses(dict.fromkeys(_called(raw_code)), ours, known)


def _called(raw_code: str) -> Iterator[str]:
    for expression in _EXPRESSION.finditer(raw_code):
        for call in _CALL.finditer(expression[0]):
            yield call["name"]
