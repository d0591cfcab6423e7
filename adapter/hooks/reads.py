"""The macros that read a relation, in one table: what each takes, and what it stands for in a model's SQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dbt.adapters.base import BaseRelation

from iceberg_incremental.expose.relations import added_sql, inserted_sql
from iceberg_incremental.expose.value_range import EMPTY

from .captures import Arguments, Captures


def _itself(relation: object) -> object:
    return relation


def _all_inserted(relation: object) -> str:
    return inserted_sql(str(relation))


def _all_added(relation: object) -> str:
    return added_sql(str(relation))


@dataclass(frozen=True)
class Read:
    """How a macro reads relations.

    ``captured``: what it stands for. ``as_given``: the same where nothing is captured, of its first argument.
    ``sampled``: the same under ``--empty`` and ``--sample``, where rows have to be looked at. ``several``: whether it
    takes a list of relations too.
    """

    captured: Callable[[Captures, Sequence[BaseRelation], Arguments], object]
    as_given: Callable[[object], object] = _itself
    sampled: Callable[[Captures, Sequence[BaseRelation], Arguments], object] | None = None
    several: bool = False


READS: Mapping[str, Read] = {
    "ip_changes": Read(Captures.changes),
    "ip_changelog": Read(Captures.changelog, as_given=_all_inserted),
    "ip_signed_changes": Read(Captures.signed_changes, as_given=_all_added),
    "ip_as_of": Read(Captures.as_of),
    "ip_changed_groups": Read(Captures.changed_groups),
    "ip_range": Read(
        Captures.value_range, as_given=lambda _: EMPTY, sampled=Captures.value_range_as_given, several=True
    ),
}
