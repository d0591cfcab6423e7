"""Terms of dbt's ``--select`` for nodes of a project. Each term selects exactly one node. Pure functions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from itertools import accumulate
from pathlib import PurePath

from ..project.graph import Node

_SPECIAL = re.compile(r"[^\w.\-]")
"""Characters that separate the terms of a selection or have a special meaning. They are replaced by a wildcard."""


def terms(nodes: Mapping[str, Node], names: Collection[str]) -> list[str]:
    """The terms for these nodes. ``nodes``: all nodes of dbt's graph, by unique id. ``names``: unique ids."""
    paths = Counter(
        path for node in nodes.values() for path in accumulate(_parts(node), lambda up, part: f"{up}.{part}")
    )
    return [_term(nodes[name], is_unique=paths[".".join(_parts(nodes[name]))] == 1) for name in sorted(names)]


def _term(node: Node, *, is_unique: bool) -> str:
    """The dotted path of a node. If another node or a folder has the same path, its file name is added."""
    term = _SPECIAL.sub("?", ".".join(_parts(node)))
    return term if is_unique else f"{term},file:{_SPECIAL.sub('?', PurePath(node['original_file_path']).name)}"


def _parts(node: Node) -> list[str]:
    """The parts of a node's path, as dbt compares them. Names are also split at dots."""
    return ".".join(node["fqn"]).split(".")
