"""Jinja templates as trees: the names that they read, the relations in their calls, and the values of a project."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import jinja2
from dbt_common.clients.jinja import get_environment
from jinja2 import nodes

if TYPE_CHECKING:
    from dbt.config.runtime import RuntimeConfig

Macros = Mapping[str, Sequence[str]]
"""The SQL of a project's own macros by name. Macros of several packages or adapters may have the same name."""


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


@lru_cache(maxsize=256)
def parsed(template: str) -> nodes.Template:
    """The tree of a template, which several rules read for each model. It must not be changed.

    Raises jinja2.TemplateError for Jinja that cannot be parsed.
    """
    return get_environment().parse(template)


def name_of(call: nodes.Call) -> str | None:
    """The name of the called function: ``f(…)``, ``package.f(…)`` and ``adapter.dispatch('f')(…)``."""
    called = call.node
    if isinstance(called, nodes.Name):
        return called.name
    if isinstance(called, nodes.Getattr):
        return called.attr
    if isinstance(called, nodes.Call) and name_of(called) == "dispatch" and called.args:
        return constant(called.args[0])
    return None


def literals_in(references: Iterable[Reference | None]) -> frozenset[Reference]:
    """The references that are literals."""
    return frozenset(reference for reference in references if reference is not None)


def changed_relations(
    macro: str, call: nodes.Call, assigned: Mapping[str, Sequence[nodes.Node]], *, certain: bool
) -> Iterator[Reference | None]:
    """The relations whose changes a call reads, from its arguments. ``certain``: as in ``references_in``."""
    others = _argument_node(call, "changes_of", 2) if macro == "ip_changed_groups" else None
    yield from relations_in(call, assigned, others, certain=certain)


def relations_in(
    call: nodes.Call,
    assigned: Mapping[str, Sequence[nodes.Node]],
    instead: nodes.Node | None = None,
    *,
    certain: bool,
) -> Iterator[Reference | None]:
    """The relations in the first argument of a call, or in the node ``instead``."""
    value = instead or _argument_node(call, "relation", 0)
    if value is None or call.dyn_args is not None or call.dyn_kwargs is not None:
        yield None
    else:
        yield from references_in(value, assigned, certain=certain)


def _argument_node(call: nodes.Call, name: str, place: int) -> nodes.Node | None:
    given: dict[str, nodes.Node] = {keyword.key: keyword.value for keyword in call.kwargs}
    positional: dict[int, nodes.Node] = dict(enumerate(call.args))
    return given.get(name, positional.get(place))


def references_in(
    value: nodes.Node,
    assigned: Mapping[str, Sequence[nodes.Node]],
    seen: frozenset[str] = frozenset(),
    *,
    certain: bool,
) -> Iterator[Reference | None]:
    """The relations in a value. ``certain``: only those that do not depend on a condition."""
    parts: Iterable[nodes.Node] | None = None
    if isinstance(value, (nodes.List, nodes.Tuple)):
        parts = value.items
    elif isinstance(value, nodes.CondExpr) and not certain:
        parts = [value.expr1, *([] if value.expr2 is None else [value.expr2])]
    elif isinstance(value, nodes.Name) and value.name in assigned and value.name not in seen:
        parts, seen = assigned[value.name], seen | {value.name}
    if parts is not None:
        for part in parts:
            yield from references_in(part, assigned, seen, certain=certain)
    elif isinstance(value, nodes.Call) and (kind := name_of(value)) in ("ref", "source") and value.args:
        yield Reference(str(kind), tuple(constant(each) for each in value.args))
    else:
        yield None


def constant(node: nodes.Node | None) -> str | None:
    """The value of a Jinja string literal. None for other expressions."""
    return node.value if isinstance(node, nodes.Const) and isinstance(node.value, str) else None


_DIFFERS = frozenset({"flags", "is_incremental", "should_full_refresh", "this"})
"""The names with which a template distinguishes a first build from later runs."""


@dataclass
class Names:
    """The names in a template.

    ``called``: all names that may be macros, including text for ``adapter.dispatch()`` and ``context[…]``.
    ``variables``: the arguments of ``var()``. ``environment``: the arguments of ``env_var()``. ``target``: the
    attributes of ``target``. ``config``: the arguments of ``config.get()`` and ``config.require()``. These four contain
    None if a name is computed, or if ``target`` is used as a whole. ``node``: the values that are read from ``model``,
    each as its keys from the outermost one. ``is_whole``: False if some Jinja cannot be parsed, so that names may be
    missing.
    """

    called: set[str] = field(default_factory=set)
    variables: set[str | None] = field(default_factory=set)
    environment: set[str | None] = field(default_factory=set)
    target: set[str | None] = field(default_factory=set)
    config: set[str | None] = field(default_factory=set)
    node: set[tuple[str, ...]] = field(default_factory=set)
    is_whole: bool = True

    def add(self, template: str) -> None:
        """Add the names that a template reads. Calls of ``config()`` are skipped, because dbt has resolved them."""
        try:
            _visit(parsed(template), self)
        except jinja2.TemplateError:  # dbt reports this error
            self.is_whole = False


def names_in(template: str) -> Names:
    """The names that a template reads."""
    found = Names()
    found.add(template)
    return found


def reached(template: str, macros: Macros) -> tuple[Names, dict[str, Sequence[str]]]:
    """The names in a template and in the macros that it calls, and the texts of these macros, by name.

    ``macros``: the project's macros.
    """
    names, called, ahead = Names(), dict[str, Sequence[str]](), [template]
    while ahead:
        names.add(ahead.pop())
        for macro in sorted((names.called & macros.keys()) - called.keys()):
            called[macro] = macros[macro]
            ahead += macros[macro]
    return names, called


def same_in_every_run(sql: str, macros: Macros) -> bool:
    """Whether a model's template and the macros that it calls render the same SQL in a first build and in later runs.

    ``macros``: the project's macros. False for a template that cannot be parsed.
    """
    names, _ = reached(sql, macros)
    return names.is_whole and names.called.isdisjoint(_DIFFERS)


def is_set_in(template: str, names: Collection[str]) -> bool:
    """Whether a template sets one of these names to a text with ``{% set name %} … {% endset %}``.

    Raises jinja2.TemplateError for Jinja that cannot be parsed.
    """
    blocks = parsed(template).find_all(nodes.AssignBlock)
    return any(_name(each.target) in names for each in blocks)


def _visit(node: nodes.Node, found: Names) -> None:
    if isinstance(node, nodes.Call) and _name(node.node) == "config":
        return
    keys = _keys(node)
    if keys:
        found.node.add(keys)
    kind, name = _call(node) if isinstance(node, nodes.Call) else _attribute(node)
    if kind:
        getattr(found, kind).add(name)
    for child in node.iter_child_nodes():
        is_part = keys and _keys(child) is not None
        if not (is_part or (kind == "target" and isinstance(child, nodes.Name))):
            _visit(child, found)


def _call(call: nodes.Call) -> tuple[str, str | None]:
    """The field of Names to which the argument of a call belongs, and the argument. Empty without such a field."""
    called = call.node
    if isinstance(called, nodes.Name):
        return {"var": "variables", "env_var": "environment"}.get(called.name, ""), _argument(call)
    if not isinstance(called, nodes.Getattr):
        return "", None
    return {"var": "variables", "config": "config", "target": "target"}.get(_name(called.node), ""), _argument(call)


def _attribute(node: nodes.Node) -> tuple[str, str | None]:
    """The field of Names and the name, for a name or an attribute of an object. Empty without such a field."""
    if isinstance(node, nodes.Name):
        return ("called", node.name) if node.name != "target" else ("target", None)
    if isinstance(node, nodes.Getattr):
        return ("target" if _name(node.node) == "target" else "called"), node.attr
    if isinstance(node, nodes.Getitem) and _name(node.node) == "target":
        return "target", constant(node.arg)
    text = constant(node)
    return ("", None) if text is None else ("called", text)


def _keys(node: nodes.Node) -> tuple[str, ...] | None:
    """The keys of a value that is read from ``model``, with ``.``, ``[]`` or ``.get()``. None for other values."""
    if isinstance(node, nodes.Name):
        return () if node.name == "model" else None
    if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr) and node.node.attr == "get":
        outer, key = _keys(node.node.node), _argument(node)
    elif isinstance(node, nodes.Getattr):
        outer, key = _keys(node.node), node.attr
    elif isinstance(node, nodes.Getitem):
        outer, key = _keys(node.node), constant(node.arg)
    else:
        return None
    return outer if outer is None or key is None else (*outer, key)


def _name(node: nodes.Node) -> str:
    return node.name if isinstance(node, nodes.Name) else ""


def _argument(call: nodes.Call) -> str | None:
    """The first argument of a call. None if it is computed."""
    return constant(call.args[0] if call.args else next((each.value for each in call.kwargs), None))


_OWN_PACKAGES = ("dbt", "dbt_spark", "dbt_spark_iceberg")


@dataclass(frozen=True)
class JinjaScope:
    """The values that Jinja can read.

    ``macros``: the result of ``own_macros``. ``variables``: returns the values of ``var()`` in a package, by name.
    ``target``: the attributes of ``target``. ``environment``: the environment variables.
    """

    macros: Macros = field(default_factory=dict)
    variables: Callable[[str], Mapping[str, Any]] = lambda package: {}
    target: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, config: RuntimeConfig, macros: Iterable[Any]) -> JinjaScope:
        """The scope of a project. ``macros``: the macros in dbt's manifest."""

        def variables(package: str) -> Mapping[str, Any]:
            # As in dbt, --vars override the project, which overrides the package.
            node: Any = SimpleNamespace(package_name=package)  # dbt reads only this attribute
            found: dict[str, Any] = {}
            if package != config.project_name and package in (packages := config.load_dependencies()):
                found |= packages[package].vars.vars_for(node, "")
            return {**found, **config.vars.vars_for(node, ""), **config.cli_vars}

        return cls(own_macros(macros), variables, config.to_target_dict(), os.environ)


def own_macros(macros: Iterable[Any]) -> Macros:
    """The SQL of the macros of the project and its packages by name, without those of dbt and its adapters.

    ``macros``: the macros in dbt's manifest. A partial parse moves the macros of an edited file to the end, so the
    texts of macros with the same name are sorted.
    """
    found: dict[str, list[str]] = {}
    for macro in macros:
        if macro.package_name not in _OWN_PACKAGES:
            for name in _names_of(macro.name):
                found.setdefault(name, []).append(macro.macro_sql)
    return {name: sorted(texts) for name, texts in found.items()}


def _names_of(macro: str) -> set[str]:
    """The names by which a macro can be called. For example, ``dispatch('f')`` finds ``default__f``.

    Both ``f`` and the prefix may contain underscores: ``default___f``, ``spark_iceberg__my__f``.
    """
    places = (at for at in range(1, len(macro) - 2) if macro.startswith("__", at))
    return {macro, *(macro[at + 2 :] for at in places)}
