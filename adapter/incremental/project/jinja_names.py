"""The names that a piece of Jinja reads: macros, variables, attributes of the target, and so on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import jinja2
from dbt_common.clients.jinja import get_environment
from jinja2 import nodes

from .conditional_reads import Macros


@dataclass
class Names:
    """The names in a template.

    ``called``: whatever may be a macro. ``variables``: of ``var()``; ``environment``: of ``env_var()``; ``target``: its
    attributes; ``config``: of ``config.get()`` and ``config.require()``. Each holds None if a name is computed, or for
    the target as a whole. ``is_whole``: False where some Jinja cannot be read, so that there may be more names.
    """

    called: set[str] = field(default_factory=set)
    variables: set[str | None] = field(default_factory=set)
    environment: set[str | None] = field(default_factory=set)
    target: set[str | None] = field(default_factory=set)
    config: set[str | None] = field(default_factory=set)
    is_whole: bool = True

    def union(self, other: Names) -> Names:
        """The names of both."""
        return Names(
            self.called | other.called,
            self.variables | other.variables,
            self.environment | other.environment,
            self.target | other.target,
            self.config | other.config,
            self.is_whole and other.is_whole,
        )


def names_in(templates: Iterable[str], macros: Macros) -> tuple[Names, dict[str, Sequence[str]]]:
    """The names that some templates read, also in the macros that they call; and these macros, by name.

    A call of ``config()`` does not count: dbt has resolved its values.
    """
    names, called = Names(), dict[str, Sequence[str]]()
    ahead = list(templates)
    while ahead:
        names = names.union(_names_in(ahead.pop()))
        for macro in sorted((names.called & macros.keys()) - called.keys()):
            called[macro] = macros[macro]
            ahead += macros[macro]
    return names, called


def _names_in(template: str) -> Names:
    try:
        parsed = get_environment().parse(template)
    except jinja2.TemplateError:  # dbt reports what it cannot compile
        return Names(is_whole=False)
    found = Names()
    _visit(parsed, found)
    return found


def _visit(node: nodes.Node, found: Names) -> None:
    if isinstance(node, nodes.Call) and _name(node.node) == "config":
        return
    kind, name = _call(node) if isinstance(node, nodes.Call) else _attribute(node)
    if kind:
        getattr(found, kind).add(name)
    for child in node.iter_child_nodes():
        if not (kind == "target" and isinstance(child, nodes.Name)):
            _visit(child, found)


def _call(call: nodes.Call) -> tuple[str, str | None]:
    """The set that the argument of a call belongs to, empty for none, and that argument."""
    called = call.node
    if isinstance(called, nodes.Name):
        return {"var": "variables", "env_var": "environment"}.get(called.name, ""), _argument(call)
    if not isinstance(called, nodes.Getattr):
        return "", None
    if called.attr == "dispatch":
        return "called", _argument(call) or ""
    return {"var": "variables", "config": "config", "target": "target"}.get(_name(called.node), ""), _argument(call)


def _attribute(node: nodes.Node) -> tuple[str, str | None]:
    """The same for a name, or for what is read of an object."""
    if isinstance(node, nodes.Name):
        return ("called", node.name) if node.name != "target" else ("target", None)
    if isinstance(node, nodes.Getattr):
        return ("target" if _name(node.node) == "target" else "called"), node.attr
    if isinstance(node, nodes.Getitem):
        item = _constant(node.arg)
        return ("target", item) if _name(node.node) == "target" else ("called", item or "")  # context['f']
    return "", None


def _name(node: nodes.Node) -> str:
    return node.name if isinstance(node, nodes.Name) else ""


def _argument(call: nodes.Call) -> str | None:
    """The first argument of a call; None if it is computed."""
    return _constant(call.args[0] if call.args else next((each.value for each in call.kwargs), None))


def _constant(node: nodes.Node | None) -> str | None:
    return node.value if isinstance(node, nodes.Const) and isinstance(node.value, str) else None
