"""A dbt project for ``watch`` and ``pending``: parsed once, with its graph and selection."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from dbt_common.exceptions import DbtRuntimeError

from iceberg_incremental.table.history import TableName

from ..project import graph as project
from ..project.graph import Node
from ..project.jinja import JinjaScope
from . import watch_errors
from .due import Dag, Reach
from .files import ProjectFiles, Stamps, definitions

if TYPE_CHECKING:
    from dbt.config.runtime import RuntimeConfig
    from dbt.contracts.graph.manifest import Manifest

_LISTED = ("model", "seed", "snapshot", "test")
"""The types of nodes in a build."""


@dataclass(frozen=True)
class DbtOptions:
    """The dbt options on the command line: for every command, for selections, and for builds only."""

    common: tuple[str, ...] = ()
    selection: tuple[str, ...] = ()
    build: tuple[str, ...] = ()


@dataclass(frozen=True)
class Project:
    """A parsed project. ``nodes``: the selected models of the materialization, by unique id.

    ``snapshots``: the selected snapshots of dbt, by unique id. ``tests``: the unique ids of the selected data tests.
    ``unselected_tests``: the unique ids of all other data tests. ``profiles_dir``: the folder of ``profiles.yml``.
    """

    options: DbtOptions
    config: RuntimeConfig
    manifest: Manifest
    graph: Mapping[str, Any]
    scope: JinjaScope
    dag: Dag
    nodes: Mapping[str, project.Node]
    tests: frozenset[str] = frozenset()
    unselected_tests: frozenset[str] = frozenset()
    profiles_dir: Path = Path()
    snapshots: Mapping[str, project.Node] = field(default_factory=dict)

    @classmethod
    def load(cls, options: DbtOptions) -> Project:
        """Parse the project, and select nodes. Does not start Spark.

        Raises dbt's errors, and ConfigError if no model of the materialization is selected.
        """
        manifest = _invoke(["parse", *options.common])
        listed = [option for kind in _LISTED for option in ("--resource-type", kind)]
        lines = _invoke(
            ["list", *options.common, *listed, "--output", "json", "--output-keys", "unique_id", *options.selection],
            manifest,
        )
        selected = {str(json.loads(line)["unique_id"]) for line in lines}
        manifest.build_flat_graph()
        graph: Mapping[str, Any] = manifest.flat_graph
        nodes = {str(node["unique_id"]): node for node in project.models(graph) if node["unique_id"] in selected}
        tests = {name for name, node in graph["nodes"].items() if node["resource_type"] == "test"}
        if not nodes:
            raise watch_errors.nothing_to_watch(len(selected - tests))
        config = _runtime_config()
        return cls(
            options,
            config,
            manifest,
            graph,
            JinjaScope.of(config, manifest.macros.values()),
            Dag.of(graph, selected - tests),
            nodes,
            frozenset(tests & selected),
            frozenset(tests - selected),
            _profiles_dir(),
            {name: graph["nodes"][name] for name in selected if graph["nodes"][name]["resource_type"] == "snapshot"},
        )

    @property
    def tables(self) -> project.ProjectTables:
        """The tables of the project's nodes."""
        return project.ProjectTables(self.graph, str(self.config.credentials.database))

    def parsed(self) -> Manifest | None:
        """Return a copy of the manifest for one command. None if the command has to parse the project.

        Commands must not share a manifest, because its nodes store the SQL of the command that compiled them. With
        catalogs.yml, each command parses the project, because dbt reads this file only while it parses.
        """
        if (Path(self.config.project_root) / "catalogs.yml").exists():
            return None
        # Only nodes are copied. A build changes nothing else, and dbt's own copy fails for disabled nodes and saved
        # queries.
        nodes = {name: type(node).from_dict(node.to_dict(omit_none=True)) for name, node in self.manifest.nodes.items()}
        found = replace(self.manifest, nodes=nodes, flat_graph={})
        found.build_flat_graph()
        return found

    def table_of(self, model: str) -> TableName:
        """A model's table."""
        return self.tables.of(self.nodes[model])

    def reads_of(self, model: str) -> frozenset[TableName]:
        """The tables that a model reads, according to the project."""
        return frozenset(self.tables.read_by(self.nodes[model]))

    @property
    def catalogs(self) -> frozenset[str]:
        """The catalogs of the selected models and of the tables that they read."""
        return frozenset(
            table.catalog for model in self.nodes for table in {self.table_of(model), *self.reads_of(model)}
        )

    def definitions(self, stamps: Stamps) -> dict[str, str]:
        """Return digests of the definitions of the selected nodes. ``stamps``: the stamps of the project's files."""
        return definitions(self.graph, self.dag.selected, self.scope, stamps)

    def files(self) -> ProjectFiles:
        """Return the files that dbt parses for the project."""
        return ProjectFiles(self.config, self.profiles_dir)

    def selector(self, nodes: Collection[str]) -> list[str]:
        """Return these nodes as terms of ``--select``."""
        return terms(self.graph["nodes"], nodes)

    def tests_before(self, reach: Reach, passed: Collection[str] = ()) -> dict[str, set[str]]:
        """Return the selected data tests of the nodes that a build reads, and the nodes that each one tests.

        dbt runs these tests before it builds the nodes, and skips the nodes if a test fails. Tests of nodes that have
        ``passed``, and tests that read a waiting node, are omitted. For an ephemeral model, its parents are tested.
        """
        found = self.graph["nodes"]

        def parents(name: str) -> Sequence[str]:
            return project.parent_ids(found[name]) if project.is_ephemeral(found.get(name, {})) else ()

        begins = (parent for name in reach.nodes for parent in project.parent_ids(found[name]))
        read = project.reached_from(begins, parents).keys() & found.keys() - reach.nodes
        judged = {test: self._judged_by(test) for test in self.tests}
        return {
            test: names & read
            for test, names in judged.items()
            if names.isdisjoint(reach.nodes | reach.waiting) and not (names & read).issubset(passed)
        }

    def half_judged(self, reach: Reach) -> set[str]:
        """Return the nodes that a selected data test reads together with a waiting node."""
        judged = (self._judged_by(test) for test in self.tests)
        return {name for names in judged if names & reach.waiting for name in names}

    def excluded(self, reach: Reach) -> list[str]:
        """Return the data tests to exclude from a build, as terms of ``--exclude``.

        These are tests that are not selected, and tests that read a waiting node, whose rows are outdated.
        """
        left_out = [
            test
            for test in self.tests | self.unselected_tests
            if (names := self._judged_by(test)) & reach.nodes
            and (test in self.unselected_tests or names & reach.waiting)
        ]
        return terms(self.graph["nodes"], left_out)

    def _judged_by(self, test: str) -> set[str]:
        return {*project.parent_ids(self.graph["nodes"][test])}


def _invoke(arguments: list[str], manifest: Manifest | None = None) -> Any:
    """Run a dbt command without output, and return its result. Raises dbt's errors."""
    from dbt.cli.main import dbtRunner

    printed = io.StringIO()
    with redirect_stdout(printed):
        outcome = dbtRunner(manifest).invoke(arguments)
    if outcome.exception is not None:
        raise outcome.exception
    if not outcome.success:
        raise DbtRuntimeError(printed.getvalue().strip())
    return outcome.result


def _profiles_dir() -> Path:
    """The folder of the last command's profile."""
    from dbt.flags import get_flags

    return Path(get_flags().PROFILES_DIR)


def _runtime_config() -> RuntimeConfig:
    """The configuration of the last command."""
    from dbt.config.runtime import RuntimeConfig, load_profile, load_project
    from dbt.flags import get_flags

    flags = get_flags()
    profile = load_profile(flags.PROJECT_DIR, flags.VARS, flags.PROFILE, flags.TARGET)
    loaded = load_project(flags.PROJECT_DIR, flags.VERSION_CHECK, profile, flags.VARS)
    return RuntimeConfig.from_parts(loaded, profile, flags)


_SPECIAL = re.compile(r"[^\w.\-]")
"""Characters that separate the terms of a selection or have a special meaning. They are replaced by a wildcard."""


def terms(nodes: Mapping[str, Node], names: Collection[str]) -> list[str]:
    """The terms of dbt's ``--select`` for these nodes. Each selects exactly one node.

    ``nodes``: all nodes of dbt's graph, by unique id. ``names``: unique ids.
    """
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
