"""References to relations in a model's text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Reference:
    """A ``ref()`` or ``source()`` as it is written. None represents an argument that is not a literal."""

    kind: str
    names: tuple[str | None, ...]

    def fits(self, node: Mapping[str, Any]) -> bool:
        """Whether the reference may be to this node of dbt's graph."""
        is_source = node["resource_type"] == "source"
        if is_source != (self.kind == "source"):
            return False
        known = (node["source_name"], node["name"]) if is_source else (node["name"],)
        named = self.names if is_source else self.names[-1:]
        return all(name in (None, here) for name, here in zip(named, known, strict=False))
