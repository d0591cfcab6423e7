"""The generic data tests of a model in dbt's graph: their arguments, and how their results are judged."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from iceberg_incremental.table.history import TableName

from .graph import Node, parent_ids, reached_from

RelationOf = Callable[[str], object]
"""Returns the relation of a node, by its unique id."""

Render = Callable[[str], str]
"""Renders Jinja in the context of the model."""

# dbt's notation for an argument that is a call; see add_rendered_test_kwargs of dbt-core.
_CALL = re.compile(r"\s*(env_var|ref|var|source|doc)\s*\(.+\)\s*")
_REFERENCE = re.compile(r"(?:\{\{)?\s*(ref|source)\s*(\(.+\))\s*(?:\}\})?\s*")


FAIL, WARN, PASS = "fail", "warn", "pass"


@dataclass(frozen=True)
class DataTest:
    """A generic test of a ``model``. ``macro``: its name, and its package; None for macros of dbt or the project.

    ``arguments``: those in the project's YAML, without the model. ``others``: the unique ids of other nodes that it
    reads. The other values are its configs, with dbt's names.
    """

    unique_id: str
    model: str
    name: str
    macro: str
    package: str | None
    arguments: Mapping[str, Any]
    others: frozenset[str]
    severity: str = "ERROR"
    fail_calc: str = "count(*)"
    warn_if: str = "!= 0"
    error_if: str = "!= 0"
    where: str | None = None
    limit: int | None = None

    def verdict(self, *, should_warn: bool, should_error: bool) -> str:
        """FAIL, WARN or PASS, from the result of the test's SQL. The rule is dbt's."""
        if self.severity.upper() == "ERROR" and should_error:
            return FAIL
        return WARN if should_warn else PASS


@dataclass
class Audit:
    """A test in a run, with the arguments of its macro. ``failures``: None before it has run."""

    test: DataTest
    arguments: Mapping[str, Any] = field(default_factory=dict)
    failures: int | None = None
    verdict: str | None = None


def generic_tests_of(graph: Mapping[str, Any], model: str) -> list[DataTest]:
    """A model's generic tests, by unique id."""
    found = (node for node in graph["nodes"].values() if node["resource_type"] == "test")
    return sorted(
        (_data_test(node, model) for node in found if node.get("attached_node") == model and node.get("test_metadata")),
        key=lambda test: test.unique_id,
    )


def _data_test(node: Node, model: str) -> DataTest:
    metadata, config = node["test_metadata"], node["config"]
    return DataTest(
        unique_id=str(node["unique_id"]),
        model=model,
        name=str(node["name"]),
        macro=f"test_{metadata['name']}",
        package=metadata.get("namespace"),
        arguments={key: value for key, value in metadata["kwargs"].items() if key != "model"},
        others=frozenset(parent_ids(node)) - {model},
        severity=config["severity"],
        fail_calc=config["fail_calc"],
        warn_if=config["warn_if"],
        error_if=config["error_if"],
        where=config.get("where"),
        limit=config.get("limit"),
    )


def built_at_any_time(graph: Mapping[str, Any], model: str, selected: Collection[str]) -> frozenset[str]:
    """The nodes that this invocation may build before or after the model: selected, and not upstream of it."""
    upstream = reached_from([model], lambda each: parent_ids(graph["nodes"].get(each, {})))
    return frozenset(selected) - upstream.keys()


def rendered(test: DataTest, graph: Mapping[str, Any], reference: RelationOf, render: Render) -> dict[str, Any]:
    """A test's arguments as dbt passes them to its macro. Calls of ref() and source() become relations.

    Raises ValueError, with the reference, for one that is not a literal or not among the nodes that the test reads.
    """

    def value_of(value: Any, name: str | None) -> Any:
        if isinstance(value, Mapping):
            return {key: value_of(each, None) for key, each in value.items()}
        if isinstance(value, (list, tuple)):
            return [value_of(each, None) for each in value]
        if not isinstance(value, str) or name == "column_name":
            return value
        if (match := _REFERENCE.fullmatch(value)) is not None:
            return reference(_referred(match[1], match[2], test, graph))
        if _CALL.fullmatch(value) is not None:
            value = f"{{{{ {value} }}}}"
        return _native(render(value)) if "{{" in value or "{%" in value else value

    return {key: value_of(value, key) for key, value in test.arguments.items()}


def reads_elsewhere(sql: str, staged: str, table: TableName) -> str | None:
    """Why the SQL of a test would not test the staged rows. None if it does.

    A macro may compose a name from the parts of ``model``, and thereby read the published table. ``staged``: the
    relation that it received, as SQL. ``table``: the model's table.
    """
    if staged not in sql:
        return "its SQL does not read {{ model }}, its argument"
    rest = sql.replace(staged, "").replace("`", "")
    if re.search(rf"(?<![\w.]){_any_length_of(table)}(?!\w)", rest, re.IGNORECASE):
        return f"its SQL reads the published table {table} by name, instead of {{{{ model }}}}"
    return None


def _any_length_of(table: TableName) -> str:
    """The pattern of a table's name with its schema, with or without its catalog."""
    catalog, namespace, name = (re.escape(part) for part in (table.catalog, table.namespace, table.name))
    return rf"({catalog}\.)?{namespace}\.{name}"


def _native(text: str) -> Any:
    """The value of a text in Jinja's native rendering."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _referred(kind: str, arguments: str, test: DataTest, graph: Mapping[str, Any]) -> str:
    """The unique id of a ref() or source() call, among the nodes that the test reads."""
    given = _positional(arguments)
    if given is None:
        raise ValueError(f"{kind}{arguments}, but an audit supports {kind}() only with literal names")
    found = [each for each in sorted({*test.others, test.model}) if _is_named(graph, each, kind, given)]
    if len(found) != 1:
        raise ValueError(f"{kind}{arguments} refers to no relation that the test reads")
    return found[0]


def _positional(arguments: str) -> tuple[Any, ...] | None:
    """The positional arguments of a call, without named ones such as ``v=2``. None if they are not literals."""
    try:
        call = ast.parse(f"f{arguments}", mode="eval").body
        return tuple(ast.literal_eval(each) for each in call.args) if isinstance(call, ast.Call) else None
    except (SyntaxError, ValueError):
        return None


def _is_named(graph: Mapping[str, Any], unique_id: str, kind: str, given: tuple[Any, ...]) -> bool:
    if kind == "source":
        node = graph["sources"].get(unique_id)
        return node is not None and (node["source_name"], node["name"]) == given
    node = graph["nodes"].get(unique_id)
    return node is not None and node["name"] == given[-1] and (len(given) == 1 or node["package_name"] == given[0])
