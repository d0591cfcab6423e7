"""The branches of a UNION ALL of blocks, each of which reads one block."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from .restricted import Relations


def have_same_types(sides: Sequence[exp.Select], relations: Relations) -> bool:
    """Whether the branches of a UNION ALL, each of which reads one relation, are known to have the same types."""
    types = [
        [relations.type_of(only_relation(side), each.unalias().name) for each in side.expressions] for side in sides
    ]
    return all(None not in listed and listed == types[0] for listed in types)


def only_relation(side: exp.Select) -> str:
    """The name of the relation that a branch of a UNION ALL reads."""
    table = side.find(exp.Table)
    assert table is not None
    return table.name
