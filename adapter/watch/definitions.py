"""Which nodes a change of the project's files changes. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..incremental.project.graph import Node, parent_ids
from .files import Stamps

_FIELDS = ("checksum", "raw_code", "config", "database", "schema", "alias", "contract")
_SEED = "seed"


def definitions(
    nodes: Mapping[str, Node], names: Collection[str], macros: Mapping[str, Any], stamps: Stamps
) -> dict[str, str]:
    """Return a digest of what dbt builds each of some nodes from, by unique id.

    ``nodes``: all nodes of dbt's graph. ``macros``: dbt's macros by unique id, each with ``macro_sql`` and
    ``depends_on.macros``. ``stamps``: of the project's files: dbt has no checksum of a seed above 1 MiB.
    """
    return {name: _definition(nodes[name], macros, stamps) for name in names if name in nodes}


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> frozenset[str]:
    """Return the nodes that are new, or are built from something else than before."""
    return frozenset(name for name, digest in after.items() if before.get(name) != digest)


def _definition(node: Node, macros: Mapping[str, Any], stamps: Stamps) -> str:
    found, ahead = dict[str, str](), list(node.get("depends_on", {}).get("macros", ()))
    while ahead:
        name = ahead.pop()
        if name in macros and name not in found:
            found[name] = macros[name].macro_sql
            ahead += macros[name].depends_on.macros
    parts: list[Any] = [{name: node.get(name) for name in _FIELDS}, sorted(parent_ids(node)), sorted(found.items())]
    if node["resource_type"] == _SEED:
        parts.append(stamps.get(str(Path(str(node.get("root_path"))) / node["original_file_path"])))
    return sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()
