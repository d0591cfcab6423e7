"""The names that a piece of Jinja reads: macros, variables, attributes of the target, and so on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import jinja2
from dbt_common.clients.jinja import get_environment
from jinja2 import nodes

from .conditional_reads import Macros, constant

_DIFFERS = frozenset({"flags", "is_incremental", "should_full_refresh", "this"})
"""What a template asks to tell a first build from later runs."""


@dataclass
class Names:
    """The names in a template.

    ``called``: whatever may be a macro, also by its name as text, for ``adapter.dispatch()`` and ``context[…]``.
    ``variables``: of ``var()``; ``environment``: of ``env_var()``; ``target``: its attributes; ``config``: of
    ``config.get()`` and ``config.require()``. Each of these holds None if a name is computed, or for the target as a
    whole. ``node``: what is read of ``model``, by keys from the outside in. ``is_whole``: False where some Jinja
    cannot be read, so that there may be more names.
    """

    called: set[str] = field(default_factory=set)
    variables: set[str | None] = field(default_factory=set)
    environment: set[str | None] = field(default_factory=set)
    target: set[str | None] = field(default_factory=set)
    config: set[str | None] = field(default_factory=set)
    node: set[tuple[str, ...]] = field(default_factory=set)
    is_whole: bool = True

    def add(self, template: str) -> None:
        """Add what a template reads. A call of ``config()`` does not count: dbt has resolved its values."""
        try:
            _visit(get_environment().parse(template), self)
        except jinja2.TemplateError:  # dbt reports what it cannot compile
            self.is_whole = False


def names_in(template: str) -> Names:
    """The names that a template reads."""
    found = Names()
    found.add(template)
    return found


def reached(template: str, macros: Macros) -> tuple[Names, dict[str, Sequence[str]]]:
    """The names that a template reads, itself or in the macros that it calls; and the texts of these macros, by name.

    ``macros``: the project's own.
    """
    names, called, ahead = Names(), dict[str, Sequence[str]](), [template]
    while ahead:
        names.add(ahead.pop())
        for macro in sorted((names.called & macros.keys()) - called.keys()):
            called[macro] = macros[macro]
            ahead += macros[macro]
    return names, called


def same_in_every_run(sql: str, macros: Macros) -> bool:
    """Whether a model's SQL, as it is written, asks for nothing that differs between its runs.

    ``macros``: the project's own, in which it may ask too. A template that cannot be parsed may ask for anything.
    """
    names, _ = reached(sql, macros)
    return names.is_whole and names.called.isdisjoint(_DIFFERS)


def is_set_in(template: str, names: Collection[str]) -> bool:
    """Whether a template sets one of these names to a text, by ``{% set name %} … {% endset %}``.

    Raises jinja2.TemplateError for Jinja that cannot be read.
    """
    blocks = get_environment().parse(template).find_all(nodes.AssignBlock)
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
    """The set that the argument of a call belongs to, empty for none, and that argument."""
    called = call.node
    if isinstance(called, nodes.Name):
        return {"var": "variables", "env_var": "environment"}.get(called.name, ""), _argument(call)
    if not isinstance(called, nodes.Getattr):
        return "", None
    return {"var": "variables", "config": "config", "target": "target"}.get(_name(called.node), ""), _argument(call)


def _attribute(node: nodes.Node) -> tuple[str, str | None]:
    """The same for a name, or for what is read of an object."""
    if isinstance(node, nodes.Name):
        return ("called", node.name) if node.name != "target" else ("target", None)
    if isinstance(node, nodes.Getattr):
        return ("target" if _name(node.node) == "target" else "called"), node.attr
    if isinstance(node, nodes.Getitem) and _name(node.node) == "target":
        return "target", constant(node.arg)
    text = constant(node)
    return ("", None) if text is None else ("called", text)


def _keys(node: nodes.Node) -> tuple[str, ...] | None:
    """The keys by which something is read of ``model``, by ``.``, ``[]`` or ``.get()``; None if it is not of it."""
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
    """The first argument of a call; None if it is computed."""
    return constant(call.args[0] if call.args else next((each.value for each in call.kwargs), None))
