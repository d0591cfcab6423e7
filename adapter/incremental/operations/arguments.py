"""The arguments of macros and operations, as people type them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..explain import operation_errors

ARGUMENTS = {
    "ip_changes": ("relation",),
    "ip_changelog": ("relation", "unique_key"),
    "ip_signed_changes": ("relation",),
    "ip_as_of": ("relation",),
    "ip_changed_groups": ("relation", "keys", "changes_of"),
    "ip_range": ("relation", "column"),
    "ip_status": ("format", "model", "select"),
    "ip_ledger": ("model", "epoch", "format"),
    "ip_set_checkpoint": ("model", "source", "snapshot_id", "timestamp"),
}
"""What each macro takes, in its order."""


def output_format(arguments: Mapping[str, Any]) -> str:
    """The argument format: ``text`` or ``json``. Raises ConfigError for another."""
    wanted = str(arguments.get("format") or "text")
    if wanted not in ("text", "json"):
        raise operation_errors.unknown_format(wanted)
    return wanted


def whole_number(value: object, name: str) -> int | None:
    """A whole number, None where it was not given. Raises ConfigError for anything else."""
    if value is None:
        return None
    text = str(value)
    if isinstance(value, bool) or not text.lstrip("-").isdecimal():
        raise operation_errors.not_a_whole_number(name, text)
    return int(text)
