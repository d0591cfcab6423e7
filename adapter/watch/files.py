"""The files that dbt parses for a project, their modification times, and the definitions that changed."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..project.graph import Node, parent_ids
from ..project.jinja import JinjaScope
from ..project.model_logic import logic_of

if TYPE_CHECKING:
    from dbt.config.runtime import RuntimeConfig


Stamps = Mapping[str, tuple[int, int]]
"""The modification time in nanoseconds since 1970, and the size in bytes, by path."""

_OF_A_PROJECT = ("dbt_project.yml", "packages.yml", "dependencies.yml", "package-lock.yml", "selectors.yml",
                 "catalogs.yml", ".dbtignore")  # fmt: skip
_SUFFIXES = frozenset({".sql", ".py", ".yml", ".yaml", ".csv", ".md", ".jinja", ".jinja2", ".j2"})


class ProjectFiles:
    """The files of a project and its packages, and the profile. The macros of dbt and the adapter are omitted."""

    def __init__(self, config: RuntimeConfig, profiles_dir: Path) -> None:
        from dbt.adapters.factory import get_include_paths

        installed = {Path(path).resolve() for path in get_include_paths(config.credentials.type)}
        projects = [
            each for each in config.load_dependencies().values() if Path(each.project_root).resolve() not in installed
        ]
        self._files = [profiles_dir / "profiles.yml"]
        self._files += [Path(each.project_root) / name for each in projects for name in _OF_A_PROJECT]
        self._folders = [Path(each.project_root) / path for each in projects for path in each.all_source_paths]

    def stamps(self) -> Stamps:
        """Return the stamps of all existing files."""
        found = {}
        for path in (*self._files, *(path for folder in self._folders for path in _below(folder))):
            try:
                known = path.stat()
            except OSError:  # the file does not exist, or was just removed
                continue
            found[str(path)] = (known.st_mtime_ns, known.st_size)
        return found


def _below(folder: Path) -> Iterator[Path]:
    """The files in a folder that dbt may read. Hidden files, such as temporary files of editors, are omitted."""
    for place, folders, names in os.walk(folder, followlinks=True):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(place, name) for name in names if not name.startswith(".") and Path(name).suffix in _SUFFIXES)


_FIELDS = ("checksum", "raw_code", "config", "database", "schema", "alias", "contract")
_SEED = "seed"


def definitions(graph: Mapping[str, Any], names: Collection[str], scope: JinjaScope, stamps: Stamps) -> dict[str, str]:
    """Return a digest of everything that determines how dbt builds these nodes, by unique id.

    ``graph``: dbt's graph. ``stamps``: the stamps of the project's files. dbt has no checksum of seeds above 1 MiB.
    """
    nodes = graph["nodes"]
    return {name: _definition(nodes[name], graph, scope, stamps) for name in names if name in nodes}


def changed_definitions(before: Mapping[str, str], after: Mapping[str, str]) -> frozenset[str]:
    """Return the nodes that are new, or whose digests differ."""
    return frozenset(name for name, digest in after.items() if before.get(name) != digest)


def _definition(node: Node, graph: Mapping[str, Any], scope: JinjaScope, stamps: Stamps) -> str:
    logic = logic_of(node, graph, scope).fingerprint
    parts: list[Any] = [{name: node.get(name) for name in _FIELDS}, sorted(parent_ids(node)), logic]
    if node["resource_type"] == _SEED:
        parts.append(stamps.get(str(Path(str(node.get("root_path"))) / node["original_file_path"])))
    return sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()
