"""The relations whose changes a model's SQL may read in Jinja branches that not every run executes.

A run captures only the relations that its Jinja reads. However, a model may read a whole relation in its first build,
and its changes under ``{% if is_incremental() %}``. To record a correct checkpoint in every run, the code of the model
and of the project's macros that it calls is analyzed. Calls without a condition are recorded separately.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import jinja2
from jinja2 import nodes

from iceberg_incremental.plan.conditional_reads import ConditionalReads, Reads
from iceberg_incremental.table.history import TableName

from .jinja import Macros, Reference, changed_relations, literals_in, name_of, parsed, references_in, relations_in
from .python_calls import PythonCall, calls_in

_ROW_CHANGES = frozenset({"ip_changes"})
_NET_CHANGES = frozenset({"ip_changelog", "ip_signed_changes", "ip_changed_groups", "ip_range"})
CHANGES = _ROW_CHANGES | _NET_CHANGES
"""The macros that read the changes of a relation instead of the whole relation."""
_WHOLE = frozenset({"ip_as_of", "ip_changed_groups"})
"""The macros that read their first argument as a whole."""
_INCREMENTAL = "is_incremental"


def reads_of(
    model: Mapping[str, Any], parents: Mapping[TableName, Mapping[str, Any]], macros: Macros
) -> ConditionalReads:
    """The relations whose changes any run of a model may read.

    ``model``: its node. ``parents``: the nodes that it refers to, by table. ``macros``: the project's macros. Raises
    ConfigError for a Python call with arguments that are not literals.
    """
    text = str(model.get("raw_code") or "")
    if model.get("language") == "python":
        return resolved(written_in_python(calls_in(text, sorted(CHANGES | _WHOLE), str(model["unique_id"]))), parents)
    return resolved(written_in(text, macros), parents)


def written_in_python(calls: Iterable[PythonCall]) -> Reads[Reference]:
    """The reads of a Python model. Every run captures all of its calls."""
    always, rows, whole = set[Reference](), set[Reference](), set[Reference]()
    for call in calls:
        changing = call.parents("changes_of", 2) if call.name == "ip_changed_groups" else ()
        if call.name in CHANGES:
            always |= {parent.reference for parent in changing or call.parents()}
        if call.name in _ROW_CHANGES:
            rows |= {parent.reference for parent in call.parents()}
        if call.name in _WHOLE:
            whole |= {parent.reference for parent in call.parents()}
    return Reads(always=frozenset(always), always_rows=frozenset(rows), whole=frozenset(whole))


def resolved(written: Reads[Reference], parents: Mapping[TableName, Mapping[str, Any]]) -> ConditionalReads:
    """The tables of the references. ``parents``: the nodes that the model refers to, by table."""

    def tables(references: frozenset[Reference]) -> frozenset[TableName]:
        return frozenset(table for reference in references for table in meant(reference))

    def meant(reference: Reference) -> Sequence[TableName]:
        return [table for table, node in parents.items() if reference.fits(node)]

    def certain(references: frozenset[Reference]) -> frozenset[TableName]:
        return frozenset(found[0] for found in map(meant, references) if len(found) == 1)

    return ConditionalReads(
        tables(written.changes),
        tables(written.net_changes),
        written.every,
        tables(written.only_incremental),
        written.has_incremental_calls,
        certain(written.always),
        tables(written.always_rows),
        certain(written.whole),
    )


def written_in(raw_sql: str, macros: Macros) -> Reads[Reference]:
    """The reads in a model's SQL template."""
    calls = list(_calls(raw_sql))
    if None in calls:
        return Reads(every=True)
    found: Reads[Reference] = Reads()
    reach = _ProjectMacros(macros)
    for call in calls:
        assert call is not None
        if not call.conditional:
            found = replace(found, always=found.always | call.certain, whole=found.whole | call.whole)
            if call.name in _ROW_CHANGES:
                found = replace(found, always_rows=found.always_rows | literals_in(call.references))
        if call.name not in CHANGES:
            inner = reach.of(call.name)
            if inner.conditional or (inner.reads and call.conditional):
                # which of its arguments a macro reads is not analyzed
                read = found.changes | inner.references | literals_in(call.references)
                found = replace(found, every=True, changes=read)
        else:
            read = literals_in(call.references) - (frozenset() if call.conditional else call.certain)
            kind = "changes" if call.name in _ROW_CHANGES else "net_changes"
            found = replace(found, **{kind: getattr(found, kind) | read})
            if call.conditional:
                found = replace(found, every=found.every or None in call.references)
            if call.incremental:
                both = found.only_incremental | read
                found = replace(found, only_incremental=both, has_incremental_calls=True)
    return found


@dataclass(frozen=True)
class _JinjaCall:
    """A call of a macro. ``references``: the relations whose changes it reads; None for one that is not a literal.

    For a macro of the project, ``references`` are all of its arguments. ``certain``: the references that do not depend
    on conditions or on variables that are assigned several times. ``whole``: the relations that it reads as a whole.
    """

    name: str
    conditional: bool
    incremental: bool
    references: tuple[Reference | None, ...] = ()
    certain: frozenset[Reference] = frozenset()
    whole: frozenset[Reference] = frozenset()


@dataclass(frozen=True)
class _Branch:
    """The place of a node in the template.

    ``conditional``: whether it is under a condition. ``incremental``: whether its only condition is is_incremental().
    """

    conditional: bool = False
    incremental: bool = False

    def under(self, test: nodes.Node, holds: bool) -> _Branch:
        certain = self.incremental or not self.conditional
        return _Branch(True, certain and _is_incremental(test, holds))


def _is_incremental(test: nodes.Node, holds: bool) -> bool:
    """Whether a test has this outcome in exactly the runs for which is_incremental() is true."""
    if isinstance(test, nodes.Not):
        return _is_incremental(test.node, not holds)
    return holds and isinstance(test, nodes.Call) and name_of(test) == _INCREMENTAL


@dataclass(frozen=True)
class _MacroReads:
    """Whether a macro reads changes, and whether it does so under its own condition.

    ``references``: the relations that its text names.
    """

    reads: bool = False
    conditional: bool = False
    references: frozenset[Reference] = frozenset()


class _ProjectMacros:
    """The reads of a project's macros, including the macros that they call. Parsed on demand."""

    def __init__(self, macros: Macros) -> None:
        self._macros = macros
        self._known: dict[str, _MacroReads] = {}

    def of(self, name: str) -> _MacroReads:
        """The reads of the macros with a name. Empty if there is none."""
        if name in self._known or name not in self._macros:
            return self._known.get(name, _MacroReads())
        self._known[name] = found = _MacroReads()  # ends the recursion of a macro that calls itself
        for sql in self._macros[name]:
            for call in _calls(sql, of_macro=True):
                if call is None:
                    found = _MacroReads(reads=True, conditional=True)
                    continue
                inner = _MacroReads(reads=True) if call.name in CHANGES else self.of(call.name)
                named = literals_in(call.references) if inner.reads else frozenset()
                found = _MacroReads(
                    found.reads or inner.reads,
                    found.conditional or inner.conditional or (inner.reads and call.conditional),
                    found.references | inner.references | named,
                )
        self._known[name] = found
        return found


def _calls(text: str, of_macro: bool = False) -> Iterator[_JinjaCall | None]:
    """The calls in a template. None if it cannot be parsed."""
    try:
        template = parsed(text)
    except jinja2.TemplateError:
        yield None
        return
    assigned: dict[str, list[nodes.Node]] = {}
    given: list[tuple[nodes.Node, nodes.Node]]
    given = [(each.target, each.node) for each in template.find_all(nodes.Assign)]
    given += [(each.target, each.iter) for each in template.find_all(nodes.For)]
    for target, value in given:
        if isinstance(target, nodes.Name):
            assigned.setdefault(target.name, []).append(value)
    body = [node for macro in template.find_all(nodes.Macro) for node in macro.body] if of_macro else template.body
    for node in body:
        yield from _visit(node, _Branch(), assigned)


def _visit(node: nodes.Node, place: _Branch, assigned: Mapping[str, Sequence[nodes.Node]]) -> Iterator[_JinjaCall]:
    if isinstance(node, nodes.Call) and (name := name_of(node)) is not None:
        yield _call(name, node, place, assigned)
    for child, its_place in _children(node, place):
        yield from _visit(child, its_place, assigned)


def _call(name: str, node: nodes.Call, place: _Branch, assigned: Mapping[str, Sequence[nodes.Node]]) -> _JinjaCall:
    call = _JinjaCall(name, place.conditional, place.incremental)
    once = {variable: given for variable, given in assigned.items() if len(given) == 1}
    if name in CHANGES:
        read = tuple(changed_relations(name, node, assigned, certain=False))
        call = replace(call, references=read, certain=literals_in(changed_relations(name, node, once, certain=True)))
    else:
        given = [*node.args, *(each.value for each in node.kwargs)]
        call = replace(call, references=tuple(chain(*(references_in(each, assigned, certain=False) for each in given))))
    if name in _WHOLE:
        call = replace(call, whole=literals_in(relations_in(node, once, certain=True)))
    return call


def _children(node: nodes.Node, place: _Branch) -> Iterator[tuple[nodes.Node, _Branch]]:
    """The child nodes and their places."""
    if isinstance(node, nodes.If):
        yield node.test, place
        yield from ((each, place.under(node.test, True)) for each in node.body)
        yield from ((each, place.under(node.test, False)) for each in (*node.elif_, *node.else_))
    elif isinstance(node, nodes.CondExpr):
        yield node.test, place
        yield node.expr1, place.under(node.test, True)
        if node.expr2 is not None:
            yield node.expr2, place.under(node.test, False)
    elif isinstance(node, (nodes.And, nodes.Or)):
        yield node.left, place
        yield node.right, place.under(node.left, isinstance(node, nodes.And))
    else:
        inside = isinstance(node, (nodes.Macro, nodes.CallBlock)) or (isinstance(node, nodes.For) and node.test)
        here = replace(place, conditional=True) if inside else place
        yield from ((child, here) for child in node.iter_child_nodes())
