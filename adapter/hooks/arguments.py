"""Checks of the arguments of macros in a model's SQL."""

from __future__ import annotations

from collections.abc import Sequence

from dbt.adapters.base import BaseRelation

from iceberg_incremental.explain import model_errors
from iceberg_incremental.plan.ranges import PER_COMMIT, PER_RANGE
from iceberg_incremental.sql import plain_name


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
