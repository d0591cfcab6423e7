"""The logic of a dbt snapshot: a fingerprint of everything that determines its rows, and a digest of its code."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import model_logic
from .graph import Node
from .jinja import JinjaScope

_DECIDING = (
    "strategy", "unique_key", "check_cols", "updated_at", "hard_deletes", "invalidate_hard_deletes",
    "dbt_valid_to_current", "snapshot_meta_column_names",
)  # fmt: skip


@dataclass(frozen=True)
class SnapshotLogic:
    """A fingerprint of everything that determines a snapshot's rows. Implements ``capture.logic_change.Logic``."""

    fingerprint: str

    def encoded(self) -> str | None:
        """None, because the fingerprint is sufficient."""
        return None

    def is_comparable(self, fingerprint: str) -> bool:
        """Always true."""
        return True

    def differences_since(self, recorded: str | None, fingerprint: str) -> Sequence[str]:
        """Always empty, because differences are unknown."""
        return ()


def logic_of(node: Node, *parts: str) -> SnapshotLogic:
    """The logic of a snapshot. ``parts``: its SQL, and the settings and versions that affect its interpretation."""
    config = {key: _without_nulls(node["config"].get(key)) for key in _DECIDING}
    text = json.dumps([config, *parts], sort_keys=True, default=str)
    return SnapshotLogic(hashlib.sha256(text.encode()).hexdigest()[:32])


def _without_nulls(value: object) -> object:
    """A value of a config. dbt omits the nested configs that are not set in some of its commands."""
    return {key: each for key, each in value.items() if each is not None} if isinstance(value, dict) else value


def code_digest(node: Node, graph: Mapping[str, Any], scope: JinjaScope) -> str:
    """A digest of a snapshot's code with its macros and variables, and of its config. Formatting does not count.

    ``graph``: dbt's graph.
    """
    return logic_of(node, model_logic.logic_of(node, graph, scope).fingerprint).fingerprint
