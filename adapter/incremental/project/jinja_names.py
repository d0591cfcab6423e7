"""The names that a piece of Jinja reads: macros, variables, attributes of the target, and so on."""

from __future__ import annotations

from dataclasses import dataclass, field

from dbt_common.clients.jinja import get_environment
from jinja2 import nodes


@dataclass
class Names:
    """The names in a template.

    ``called``: whatever may be a macro. ``variables``: of ``var()``; ``environment``: of ``env_var()``; ``target``: its
    attributes; ``config``: of ``config.get()`` and ``config.require()``. Each holds None if a name is computed, or for
    the target as a whole.
    """

    called: set[str] = field(default_factory=set)
    variables: set[str | None] = field(default_factory=set)
    environment: set[str | None] = field(default_factory=set)
    target: set[str | None] = field(default_factory=set)
    config: set[str | None] = field(default_factory=set)

    def union(self, other: Names) -> Names:
        """The names of both."""
        return Names(
            self.called | other.called,
            self.variables | other.variables,
            self.environment | other.environment,
            self.target | other.target,
            self.config | other.config,
        )


def names_in(template: str) -> Names:
    """The names that a template reads. A call of ``config()`` does not count: dbt has resolved its values.

    Raises jinja2.TemplateError for Jinja that cannot be read.
    """
    found = Names()
    _visit(get_environment().parse(template), found)
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
    if isinstance(node, nodes.Getitem) and _name(node.node) == "target":
        return "target", _constant(node.arg)
    return "", None


def _name(node: nodes.Node) -> str:
    return node.name if isinstance(node, nodes.Name) else ""


def _argument(call: nodes.Call) -> str | None:
    """The first argument of a call; None if it is computed."""
    return _constant(call.args[0] if call.args else next((each.value for each in call.kwargs), None))


def _constant(node: nodes.Node | None) -> str | None:
    return node.value if isinstance(node, nodes.Const) and isinstance(node.value, str) else None
