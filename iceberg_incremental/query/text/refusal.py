"""Why a query cannot be updated incrementally."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp


@dataclass(frozen=True)
class Refusal(Exception):  # noqa: N818 (a value, which the adapter turns into an error that names the model)
    """A construct of a query that cannot be updated incrementally. ``line``: its line, from 1; None if unknown.

    ``instead``: what to write instead; empty if there is no alternative.
    """

    construct: str
    line: int | None = None
    instead: str = ""

    def __str__(self) -> str:
        where = "" if self.line is None else f" (line {self.line})"
        return f"{self.construct}{where}"


class NotAFunction(Refusal):
    """A construct whose result is not a function of the rows of the query's relations, such as ``rand()``."""


class OtherRelation(NotAFunction):
    """The name of a relation that is not among those of the query, so that its changes are not known."""


def refused(construct: str, node: exp.Expr | None = None, instead: str = "") -> Refusal:
    """The refusal of a construct. ``node``: its node, which determines the line."""
    return Refusal(construct, None if node is None else line_of(node), instead)


def not_a_function(construct: str, node: exp.Expr | None = None, instead: str = "") -> NotAFunction:
    """The refusal of a construct whose result may differ although no source has changed."""
    return NotAFunction(construct, None if node is None else line_of(node), instead)


def other_relation(name: object, line: int | None) -> OtherRelation:
    """The refusal of a relation that is not among those of the query. ``name``: as the query names it."""
    return OtherRelation(f"the relation {name}", line, "refer to it with ref() or source()")


def line_of(node: exp.Expr) -> int | None:
    """The line of the first name within a node. None if the parser has not recorded it."""
    lines = [each.meta["line"] for each in node.walk() if "line" in each.meta]
    return min(lines, default=None)
