"""The arguments of macros and operations, as people type them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from iceberg_incremental.durations import duration
from iceberg_incremental.plan.policy import MATERIALIZATION

from ..project import graph as project
from . import operation_errors, verification_errors

ARGUMENTS = {
    "ip_changes": ("relation",),
    "ip_changelog": ("relation", "unique_key", "per"),
    "ip_signed_changes": ("relation",),
    "ip_as_of": ("relation",),
    "ip_changed_groups": ("relation", "keys", "changes_of"),
    "ip_range": ("relation", "column"),
    "ip_history_as_of": ("relation", "timestamp"),
    "ip_status": ("format", "model", "select", "output"),
    "ip_explain": ("format", "model", "select"),
    "ip_verify": ("select", "model", "sample", "format"),
    "ip_equals_rebuild": ("model", "sample"),
    "ip_ledger": ("model", "epoch", "format", "select"),
    "ip_clone_source": ("source", "schema", "retention", "full_refresh"),
    "ip_maintain": ("select", "model", "format", "dry_run", "sources", "max_snapshot_age", "orphan_files"),
    "ip_set_checkpoint": ("model", "source", "snapshot_id", "timestamp", "accept_sql"),
}
"""What each macro takes, in its order."""


def output_format(arguments: Mapping[str, Any], known: Sequence[str] = ("text", "json")) -> str:
    """The argument format: one of these, the first if it is not given. Raises ConfigError for another."""
    wanted = str(arguments.get("format") or known[0])
    if wanted not in known:
        raise operation_errors.unknown_format(wanted, known)
    return wanted


def output_file(arguments: Mapping[str, Any], wanted: str) -> Path | None:
    """The argument output: where a page goes. Raises ConfigError where it is missing, or the format is no page."""
    output = arguments.get("output")
    if (wanted == "html") != bool(output):
        raise operation_errors.output_and_format(wanted, output)
    return Path(str(output)) if output else None


def whole_number(value: object, name: str) -> int | None:
    """A whole number, None where it was not given. Raises ConfigError for anything else."""
    if value is None:
        return None
    text = str(value)
    if isinstance(value, bool) or not text.lstrip("-").isdecimal():
        raise operation_errors.not_a_whole_number(name, text)
    return int(text)


def flag(value: object, name: str) -> bool:
    """Whether something is asked for; false where it was not given. Raises ConfigError for anything else."""
    if value is None or isinstance(value, bool):
        return bool(value)
    raise operation_errors.not_a_flag(name, str(value))


def share(value: object) -> float:
    """A share of the keys; 1 where it was not given. Raises ConfigError for anything but a number above 0, up to 1."""
    if value is None:
        return 1.0
    try:
        found = float(str(value))
    except ValueError as error:
        raise verification_errors.not_a_fraction(str(value)) from error
    if isinstance(value, bool) or not 0 < found <= 1:
        raise verification_errors.not_a_fraction(str(value))
    return found


def time_span(value: object, name: str) -> timedelta | None:
    """A duration above 0, None where it was not given. Raises ConfigError for anything else."""
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
    """The models that ``model`` or ``select`` name; without either, all of these materializations.

    Raises ConfigError for both, and for names that are not known.
    """
    model, select = arguments.get("model"), arguments.get("select")
    if model is not None and select is not None:
        raise operation_errors.model_and_select(operation)
    if model is not None:
        return [project.model_named(graph, model, materializations)]
    if select is not None:
        return project.models_selected(graph, select, materializations)
    return project.models(graph, materializations)
