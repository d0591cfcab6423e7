"""The arguments of macros and operations, as users write them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from iceberg_incremental.durations import duration
from iceberg_incremental.plan.policy import MATERIALIZATION

from ..project import graph as project
from . import operation_errors


def output_format(arguments: Mapping[str, Any], known: Sequence[str] = ("text", "json")) -> str:
    """The argument format: one of ``known``, by default the first. Raises ConfigError for another value."""
    wanted = str(arguments.get("format") or known[0])
    if wanted not in known:
        raise operation_errors.unknown_format(wanted, known)
    return wanted


def output_file(arguments: Mapping[str, Any], wanted: str) -> Path | None:
    """The argument output: the path of a page. Raises ConfigError if it is missing, or if the format is not html."""
    output = arguments.get("output")
    if (wanted == "html") != bool(output):
        raise operation_errors.output_and_format(wanted, output)
    return Path(str(output)) if output else None


def whole_number(value: object, name: str) -> int | None:
    """An integer. None if it was omitted. Raises ConfigError for another value."""
    if value is None:
        return None
    text = str(value)
    if isinstance(value, bool) or not text.lstrip("-").isdecimal():
        raise operation_errors.not_a_whole_number(name, text)
    return int(text)


def flag(value: object, name: str) -> bool:
    """A boolean. False if it was omitted. Raises ConfigError for another value."""
    if value is None or isinstance(value, bool):
        return bool(value)
    raise operation_errors.not_a_flag(name, str(value))


def share(value: object) -> float:
    """The share of keys, above 0 and up to 1. 1 if it was omitted. Raises ConfigError for another value."""
    if value is None:
        return 1.0
    try:
        found = float(str(value))
    except ValueError as error:
        raise operation_errors.not_a_fraction(str(value)) from error
    if isinstance(value, bool) or not 0 < found <= 1:
        raise operation_errors.not_a_fraction(str(value))
    return found


def time_span(value: object, name: str) -> timedelta | None:
    """A duration above 0. None if it was omitted. Raises ConfigError for another value."""
    found = duration(value)
    if value is not None and not found:
        raise operation_errors.not_a_duration(name, str(value))
    return found


def models_of(
    graph: Mapping[str, Any],
    arguments: Mapping[str, Any],
    operation: str,
    materializations: Collection[str] = (MATERIALIZATION,),
) -> list[project.Node]:
    """The models in ``model`` or ``select``. Without either, all models with these materializations.

    Raises ConfigError for both arguments, and for unknown names.
    """
    model, select = arguments.get("model"), arguments.get("select")
    if model is not None and select is not None:
        raise operation_errors.model_and_select(operation)
    if model is not None:
        return [project.model_named(graph, model, materializations)]
    if select is not None:
        return project.models_selected(graph, select, materializations)
    return project.models(graph, materializations)
