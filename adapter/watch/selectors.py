"""Nodes of a project as terms of dbt's ``--select``, each of which names one node alone. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import PurePath
from typing import Any

Node = Mapping[str, Any]

_SPECIAL = re.compile(r"[^\w.\-]")
"""What separates the terms of a selection, or has a meaning in one; a wildcard stands for it."""


def terms(nodes: Mapping[str, Node], names: Collection[str]) -> list[str]:
    """The terms of some nodes. ``nodes``: all nodes of dbt's graph, by unique id; ``names``: unique ids."""
    return [_term(nodes, nodes[name]) for name in sorted(names)]


def _term(nodes: Mapping[str, Node], node: Node) -> str:
    """The dotted path of a node; with its file where that is the path of a folder too, whose nodes dbt would select."""
    own = _parts(node)
    term = _SPECIAL.sub("?", ".".join(own))
    others = (_parts(each) for each in nodes.values() if each["unique_id"] != node["unique_id"])
    if any(parts[: len(own)] == own for parts in others):
        term += f",file:{_SPECIAL.sub('?', PurePath(node['original_file_path']).name)}"
    return term


def _parts(node: Node) -> list[str]:
    """A node's path as dbt compares it: a dot within a name separates too."""
    return ".".join(node["fqn"]).split(".")
