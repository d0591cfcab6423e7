"""Nodes of a project as terms of dbt's ``--select``, each of which names one node alone. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from itertools import accumulate
from pathlib import PurePath

from ..project.graph import Node

_SPECIAL = re.compile(r"[^\w.\-]")
"""What separates the terms of a selection, or has a meaning in one; a wildcard stands for it."""


def terms(nodes: Mapping[str, Node], names: Collection[str]) -> list[str]:
    """The terms of some nodes. ``nodes``: all nodes of dbt's graph, by unique id; ``names``: unique ids."""
    paths = Counter(
        path for node in nodes.values() for path in accumulate(_parts(node), lambda up, part: f"{up}.{part}")
    )
    return [_term(nodes[name], is_unique=paths[".".join(_parts(nodes[name]))] == 1) for name in sorted(names)]


def _term(node: Node, *, is_unique: bool) -> str:
    """The dotted path of a node; with its file where that is the path of a folder too, whose nodes dbt would select."""
    term = _SPECIAL.sub("?", ".".join(_parts(node)))
    return term if is_unique else f"{term},file:{_SPECIAL.sub('?', PurePath(node['original_file_path']).name)}"


def _parts(node: Node) -> list[str]:
    """A node's path as dbt compares it: a dot within a name separates too."""
    return ".".join(node["fqn"]).split(".")
