"""The lookup of models and their parents in dbt's graph."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from iceberg_incremental.plan.policy import MATERIALIZATION, Strategy
from iceberg_incremental.table.history import TableName

from . import project_errors

Node = Mapping[str, Any]


_OURS = (MATERIALIZATION,)


@dataclass(frozen=True)
class ProjectTables:
    """The tables of a project's nodes. ``graph``: dbt's graph. ``default_catalog``: for nodes without a catalog."""

    graph: Mapping[str, Any]
    default_catalog: str

    def of(self, node: Node) -> TableName:
        """The table of a node in this environment."""
        return table_of(node, self.default_catalog)

    def read_by(self, node: Node) -> dict[TableName, Node]:
        """The tables that a model captures, each with a node that builds or declares it."""
        return {self.of(parent): parent for parent in read_by(self.graph, node)}


def models(graph: Mapping[str, Any], materializations: Collection[str] = _OURS) -> list[Node]:
    """The project's models with these materializations, by unique id. For snapshots, it is ``snapshot``."""
    found = [node for node in graph["nodes"].values() if _is_model(node, materializations)]
    return sorted(found, key=lambda node: str(node["unique_id"]))


def model_named(graph: Mapping[str, Any], name: object, materializations: Collection[str] = _OURS) -> Node:
    """The model with a name or unique id, among the models with these materializations.

    Raises ConfigError if there is none, or more than one.
    """
    known = models(graph, materializations)
    found = [node for node in known if name in (node["name"], node["unique_id"])]
    if len(found) == 1:
        return found[0]
    raise project_errors.not_one_model(name, len(found), [str(node["name"]) for node in known], materializations)


def models_selected(graph: Mapping[str, Any], select: object, materializations: Collection[str] = _OURS) -> list[Node]:
    """The models with these materializations in a selection, in the syntax of dbt's --select.

    Words, or the items of a list, form a union. Commas form an intersection. A term is a name or unique id, possibly
    with wildcards; ``tag:`` and a tag; or ``path:`` and a file or folder of the project. A word with a slash is also a
    path. Raises ConfigError for an unknown method or a graph operator, and if nothing is selected.
    """
    words = [str(each) for each in select] if isinstance(select, (list, tuple)) else str(select).split()
    terms = [word.split(",") for word in words]
    unknown = [term for each in terms for term in each if not _is_term(term)]
    known = models(graph, materializations)
    found = [node for node in known if any(all(_fits(term, node) for term in each) for each in terms if each)]
    if unknown or not found:
        raise project_errors.wrong_selection(select, unknown, [str(node["name"]) for node in known], materializations)
    return found


def _is_term(term: str) -> bool:
    method, colon, value = term.rpartition(":")
    return (
        bool(value)
        and method in (("tag", "path") if colon else ("",))
        and not term.startswith(("+", "@"))
        and (not term.endswith("+"))
    )


def _fits(term: str, node: Node) -> bool:
    method, _, value = term.rpartition(":")
    if method == "tag":
        return any(fnmatchcase(str(tag), value) for tag in node.get("tags") or ())
    if method == "path" or "/" in value:
        path, folder = str(node.get("original_file_path") or ""), value.rstrip("/")
        return fnmatchcase(path, folder) or fnmatchcase(path, f"{folder}/*")
    return any(fnmatchcase(str(name), value) for name in (node["name"], node["unique_id"]))


def parents_of(graph: Mapping[str, Any], node: Node) -> Iterator[Node]:
    """The models, seeds, snapshots and sources that a model's SQL refers to."""
    for parent in parent_ids(node):
        found = graph["nodes"].get(parent) or graph["sources"].get(parent)
        if found is not None and not is_ephemeral(found):
            yield found


def reached_from(start: Iterable[str], following: Callable[[str], Iterable[str]]) -> dict[str, None]:
    """These names, and all names that can be reached from them. ``following``: returns the successors of a name."""
    found: dict[str, None] = {}
    ahead = list(start)
    while ahead:
        name = ahead.pop()
        if name not in found:
            found[name] = None
            ahead += following(name)
    return found


def sources_of(graph: Mapping[str, Any], node: Node, is_part: Callable[[Node], bool] | None = None) -> Iterator[Node]:
    """The nodes that a model reads, including those that it reads through ephemeral models. Each node occurs once.

    ``is_part``: returns whether a node is part of the nodes that refer to it. By default, ephemeral models are.
    """
    is_part = is_part or is_ephemeral

    def behind(name: str) -> Sequence[str]:
        found = graph["nodes"].get(name, {})
        return parent_ids(found) if is_part(found) else ()

    for name in reached_from(parent_ids(node), behind):
        found = graph["nodes"].get(name) or graph["sources"].get(name)
        if found is not None and not is_part(found):
            yield found


def read_by(graph: Mapping[str, Any], node: Node) -> Iterator[Node]:
    """The nodes whose tables a model captures: its parents and, with ``auto``, the tables behind views."""
    is_auto = node["config"].get("incremental_strategy") == Strategy.AUTO.value
    return sources_of(graph, node, _is_query) if is_auto else parents_of(graph, node)


def tables_behind(graph: Mapping[str, Any], node: Node) -> Iterator[Node]:
    """The nodes whose tables a node reads, including those behind views and ephemeral models. Each node occurs once."""
    return sources_of(graph, node, _is_query)


def parent_ids(node: Node) -> Sequence[str]:
    """The unique ids that a node refers to. Empty for nodes without references, such as seeds."""
    found: Sequence[str] = node.get("depends_on", {}).get("nodes", ())
    return found


def is_ephemeral(node: Node) -> bool:
    """Whether a node is part of the nodes that refer to it, and is never built."""
    materialized: object = node.get("config", {}).get("materialized")
    return materialized == "ephemeral"


def _is_query(node: Node) -> bool:
    """Whether a node stores no rows: an ephemeral model or a view."""
    return is_ephemeral(node) or node.get("config", {}).get("materialized") == "view"


def ephemeral(graph: Mapping[str, Any], names: Collection[str]) -> list[str]:
    """The unique ids of the ephemeral models among some nodes."""
    return sorted(name for name in names if is_ephemeral(graph["nodes"].get(name, {})))


def outside_parents(
    graph: Mapping[str, Any], selected: Collection[str], table: Callable[[Node], TableName]
) -> set[TableName]:
    """The tables that the selected models of this package capture, without tables of selected nodes.

    ``table``: returns the table of a node.
    """
    return {
        table(parent)
        for node in models(graph)
        if node["unique_id"] in selected
        for parent in read_by(graph, node)
        if parent["unique_id"] not in selected
    }


def table_of(node: Node, default_catalog: str) -> TableName:
    """The table of a node in this environment."""
    name = node.get("identifier") or node.get("alias") or node["name"]
    return TableName(node.get("database") or default_catalog, str(node["schema"]), str(name))


def table_named(text: str, candidates: Sequence[TableName]) -> TableName:
    """The candidate that a user's text names. The text is its canonical name, or a unique suffix of it.

    Raises ConfigError if no candidate or more than one matches.
    """
    found = [table for table in candidates if text == str(table)]
    found = found or [table for table in candidates if str(table).endswith(f".{text}")]
    if len(found) == 1:
        return found[0]
    raise project_errors.not_one_source(text, len(found), candidates)


def _is_model(node: Node, materializations: Collection[str]) -> bool:
    kind = str(node["resource_type"])
    return node["config"].get("materialized") in materializations and kind in ("model", "snapshot")
