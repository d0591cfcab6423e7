"""The nodes that a change to the project's files affects. Pure functions."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..project.graph import Node, parent_ids
from ..project.jinja_scope import JinjaScope
from ..project.model_logic import logic_of
from .files import Stamps

_FIELDS = ("checksum", "raw_code", "config", "database", "schema", "alias", "contract")
_SEED = "seed"


def definitions(graph: Mapping[str, Any], names: Collection[str], scope: JinjaScope, stamps: Stamps) -> dict[str, str]:
    """Return a digest of everything that determines how dbt builds these nodes, by unique id.

    ``graph``: dbt's graph. ``stamps``: the stamps of the project's files. dbt has no checksum of seeds above 1 MiB.
    """
    nodes = graph["nodes"]
    return {name: _definition(nodes[name], graph, scope, stamps) for name in names if name in nodes}


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> frozenset[str]:
    """Return the nodes that are new, or whose digests differ."""
    return frozenset(name for name, digest in after.items() if before.get(name) != digest)


def _definition(node: Node, graph: Mapping[str, Any], scope: JinjaScope, stamps: Stamps) -> str:
    logic = logic_of(node, graph, scope).fingerprint
    parts: list[Any] = [{name: node.get(name) for name in _FIELDS}, sorted(parent_ids(node)), logic]
    if node["resource_type"] == _SEED:
        parts.append(stamps.get(str(Path(str(node.get("root_path"))) / node["original_file_path"])))
    return sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()
