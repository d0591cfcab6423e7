"""Jinja templates as trees, and the relations in the arguments of their calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from dbt_common.clients.jinja import get_environment
from jinja2 import nodes

from .reference import Reference


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


def known(references: Iterable[Reference | None]) -> frozenset[Reference]:
    """The references that are literals."""
    return frozenset(reference for reference in references if reference is not None)


def changing(
    macro: str, call: nodes.Call, assigned: Mapping[str, Sequence[nodes.Node]], *, certain: bool
) -> Iterator[Reference | None]:
    """The relations whose changes a call reads, from its arguments. ``certain``: as in ``references_in``."""
    others = _argument(call, "changes_of", 2) if macro == "ip_changed_groups" else None
    yield from relations(call, assigned, others, certain=certain)


def relations(
    call: nodes.Call,
    assigned: Mapping[str, Sequence[nodes.Node]],
    instead: nodes.Node | None = None,
    *,
    certain: bool,
) -> Iterator[Reference | None]:
    """The relations in the first argument of a call, or in the node ``instead``."""
    value = instead or _argument(call, "relation", 0)
    if value is None or call.dyn_args is not None or call.dyn_kwargs is not None:
        yield None
    else:
        yield from references_in(value, assigned, certain=certain)


def _argument(call: nodes.Call, name: str, place: int) -> nodes.Node | None:
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
