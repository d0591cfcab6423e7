"""The branches of a UNION ALL. Each branch reads one block."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from .restricted import Relations


def have_same_types(sides: Sequence[exp.Select], relations: Relations) -> bool:
    """Whether the branches of a UNION ALL are known to have the same column types."""
    types = [
        [relations.type_of(only_relation(side), each.unalias().name) for each in side.expressions] for side in sides
    ]
    return all(None not in listed and listed == types[0] for listed in types)


def only_relation(side: exp.Select) -> str:
    """The name of the relation that a branch of a UNION ALL reads."""
    table = side.find(exp.Table)
    assert table is not None
    return table.name
