"""What a macro was given in a model's SQL, checked."""

from __future__ import annotations

from collections.abc import Sequence

from dbt.adapters.base import BaseRelation

from iceberg_incremental.explain import model_errors
from iceberg_incremental.plan.ranges import PER_COMMIT, PER_RANGE
from iceberg_incremental.sql import plain_name


def relations_in(macro: str, value: object, *, several: bool) -> Sequence[BaseRelation]:
    """The relations that a macro was given: one, or where it takes ``several`` a list. Raises ConfigError otherwise."""
    relations = value if several and isinstance(value, (list, tuple)) and value else [value]
    for relation in relations:
        if not isinstance(relation, BaseRelation):
            raise model_errors.not_a_relation(macro, relation)
    return relations


def columns_in(macro: str, value: object, model: str) -> list[str]:
    """The columns that a macro was given, by their plain names. Raises ConfigError for anything else."""
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise model_errors.not_columns(macro, value, model)
    return [plain_name(name) for name in names]


def per_in(macro: str, value: object, model: str) -> str | None:
    """How a macro was asked to net changes; None if it was not. Raises ConfigError for anything else."""
    known = (PER_RANGE, PER_COMMIT)
    if value is None:
        return None
    if value not in known:
        raise model_errors.not_a_value(macro, "per", value, known, model)
    return str(value)


def column_in(macro: str, value: object, model: str) -> str:
    """The one column that a macro was given, by its plain name. Raises ConfigError for anything else."""
    if not isinstance(value, str):
        raise model_errors.not_columns(macro, value, model)
    return plain_name(value)
