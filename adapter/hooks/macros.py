"""The macros that read relations: their arguments, and their results in a model's SQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbt.adapters.base import BaseRelation

from iceberg_incremental.explain import model_errors
from iceberg_incremental.expose.captures import Captures
from iceberg_incremental.expose.relations import added_sql, inserted_sql, with_commit_sql
from iceberg_incremental.expose.value_range import EMPTY, ValueRange
from iceberg_incremental.plan.ranges import PER_COMMIT, PER_RANGE
from iceberg_incremental.sql import plain_name
from iceberg_incremental.table.history import TableName

ARGUMENTS = {
    "ip_changes": ("relation",),
    "ip_changelog": ("relation", "unique_key", "per"),
    "ip_signed_changes": ("relation",),
    "ip_as_of": ("relation",),
    "ip_changed_groups": ("relation", "keys", "changes_of"),
    "ip_range": ("relation", "column"),
    "ip_history_as_of": ("relation", "timestamp"),
    "ip_status": ("format", "model", "select", "output"),
    "ip_explain": ("format", "model", "select"),
    "ip_verify": ("select", "model", "sample", "format"),
    "ip_equals_rebuild": ("model", "sample"),
    "ip_ledger": ("model", "epoch", "format", "select"),
    "ip_clone_source": ("source", "schema", "retention", "full_refresh"),
    "ip_maintain": ("select", "model", "format", "dry_run", "sources", "max_snapshot_age", "orphan_files"),
    "ip_set_checkpoint": ("model", "source", "snapshot_id", "timestamp", "accept_sql"),
}
"""The arguments of each macro, in order."""


def relations_in(macro: str, value: object, *, several: bool) -> Sequence[BaseRelation]:
    """The relations in a macro's argument: one, or a list if ``several``. Raises ConfigError for another value."""
    relations = value if several and isinstance(value, (list, tuple)) and value else [value]
    for relation in relations:
        if not isinstance(relation, BaseRelation):
            raise model_errors.not_a_relation(macro, relation)
    return relations


def columns_in(macro: str, value: object, model: str) -> list[str]:
    """The columns in a macro's argument, without quotes. Raises ConfigError for another value."""
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise model_errors.not_columns(macro, value, model)
    return [plain_name(name) for name in names]


def per_in(macro: str, value: object, model: str) -> str | None:
    """The argument ``per`` of a macro. None if it was omitted. Raises ConfigError for another value."""
    known = (PER_RANGE, PER_COMMIT)
    if value is None:
        return None
    if value not in known:
        raise model_errors.not_a_value(macro, "per", value, known, model)
    return str(value)


def column_in(macro: str, value: object, model: str) -> str:
    """The single column in a macro's argument, without quotes. Raises ConfigError for another value."""
    if not isinstance(value, str):
        raise model_errors.not_columns(macro, value, model)
    return plain_name(value)


Arguments = Mapping[str, Any]
"""The additional arguments of a macro, by name. Relations among them are tables."""


def _changelog(captures: Captures, sources: Sequence[TableName], arguments: Arguments) -> str:
    names = columns_in(captures.macro, arguments["unique_key"] or [], captures.model)
    return captures.changelog(sources[0], names, per_in(captures.macro, arguments.get("per"), captures.model))


def _changelog_as_given(relation: object, arguments: Arguments) -> str:
    inserted = inserted_sql(str(relation))
    is_of_commit = arguments.get("per") == PER_COMMIT or arguments.get("with_commit")
    return with_commit_sql(inserted, None) if is_of_commit else inserted


def _changed_groups(captures: Captures, sources: Sequence[TableName], arguments: Arguments) -> str:
    names = columns_in(captures.macro, arguments["keys"], captures.model)
    return captures.changed_groups(sources[0], names, arguments["changes_of"] or sources)


def _range(captures: Captures, sources: Sequence[TableName], arguments: Arguments) -> ValueRange:
    return captures.value_range(sources, column_in(captures.macro, arguments["column"], captures.model))


def _range_as_given(captures: Captures, relations: Sequence[object], arguments: Arguments) -> ValueRange:
    column = column_in(captures.macro, arguments["column"], captures.model)
    return captures.value_range_of([str(relation) for relation in relations], column)


@dataclass(frozen=True)
class Read:
    """How a macro reads relations.

    ``captured``: returns its result. ``as_given``: returns its result if nothing is captured, from its first argument.
    ``sampled``: returns its result with ``--empty`` and ``--sample``, if this depends on the rows of the relations.
    ``several``: whether it also accepts a list of relations.
    """

    captured: Callable[[Captures, Sequence[TableName], Arguments], str | ValueRange]
    as_given: Callable[[object, Arguments], object] = lambda relation, _: relation
    sampled: Callable[[Captures, Sequence[object], Arguments], object] | None = None
    several: bool = False


READS: Mapping[str, Read] = {
    "ip_changes": Read(lambda captures, sources, _: captures.changes(sources[0])),
    "ip_changelog": Read(_changelog, as_given=_changelog_as_given),
    "ip_signed_changes": Read(
        lambda captures, sources, _: captures.signed_changes(sources[0]),
        as_given=lambda relation, _: added_sql(str(relation)),
    ),
    "ip_as_of": Read(lambda captures, sources, _: captures.as_of(sources[0])),
    "ip_changed_groups": Read(_changed_groups),
    "ip_range": Read(_range, as_given=lambda *_: EMPTY, sampled=_range_as_given, several=True),
}
