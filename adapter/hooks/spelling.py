"""Warnings about misspelled macros and about configs without effect, before dbt compiles the models."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from iceberg_incremental.explain import wording
from iceberg_incremental.plan.policy import MATERIALIZATION
from iceberg_incremental.spelling import near_misses

from ..operations.arguments import ARGUMENTS
from ..project.configs import ONLY_HERE

_EXPRESSION = re.compile(r"\{[{%].*?[%}]\}", re.DOTALL)
_CALL = re.compile(r"(?<![\w.])(?P<name>ip_\w+)\s*\(")


def warnings(nodes: Sequence[Any], macros: Collection[str]) -> Iterator[str]:
    """The warnings of a project. ``macros``: the names of all macros that dbt knows."""
    for node in nodes:
        for name, meant in misspelt(str(getattr(node, "raw_code", "")), ARGUMENTS, macros).items():
            yield f"{node.unique_id} calls {name}(), a macro that does not exist: did you mean {meant}()?"
    for config in ONLY_HERE:
        if named := [str(node.unique_id) for node in nodes if _is_passed_over(config, node)]:
            yield wording.config_without_effect(config, named)


def _is_passed_over(config: str, node: Any) -> bool:
    """Whether a model of another materialization sets a config of this package."""
    is_ours = node.config.materialized == MATERIALIZATION
    return not is_ours and node.resource_type == "model" and bool(node.config.get(config))


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
