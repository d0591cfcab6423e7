"""The names that a Jinja template reads, for example macros, variables and attributes of the target."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import jinja2
from jinja2 import nodes

from .conditional_reads import Macros
from .jinja_references import constant, parsed

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
