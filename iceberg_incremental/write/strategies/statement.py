"""The configs of a strategy, and its result: the statement that writes rows, and the kind of the second statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ...plan.policy import Policy, Strategy
from ...table.layout import columns_of
from ..columns.table_columns import Typed


class Then(Enum):
    """The second statement, which is published with the first."""

    NOTHING = "nothing"
    DELETE_REPLACED = "delete replaced"
    """Delete the rows with the same keys, or in the changed groups, that the inserted rows replace."""
    DELETE_CHANGED = "delete changed"
    """Delete the rows of all keys of the changelog, except for rows that were just inserted. The keys are read from the
    view of the changes, whose rows Spark holds."""
    MERGE_VERSIONS = "merge versions"
    """The statement is a MERGE of versions. It is rendered again with the bounds of their keys when Spark holds the
    changes."""


@dataclass(frozen=True)
class Statement:
    """A statement as SQL.

    ``columns``: the columns of the inserted rows, if a second statement follows. ``added``: the columns among them that
    the run adds to the table.
    """

    sql: str
    then: Then = Then.NOTHING
    columns: tuple[Typed, ...] = ()
    added: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.sql


_COMPARED = ("unique_key", "sequence_by", "merge_fixed_columns")
_MICROBATCH = "microbatch"
"""dbt's own strategy, which replaces the rows of a window of ``event_time``."""


@dataclass(frozen=True)
class StrategyConfig:
    """A model's ``incremental_strategy``, by name, and its ``incremental_predicates``."""

    name: str
    predicates: list[str]


def strategy_config(config: Mapping[str, Any]) -> StrategyConfig:
    """Read the configs of a model of this package, or of dbt's ``incremental``, which may name a custom strategy.

    A merge without a unique_key matches no row and only inserts rows. It is therefore an append.
    """
    default = Policy().strategy.value
    name = str(config.get("incremental_strategy") or default)
    if name == Strategy.MERGE.value and not config.get("unique_key"):
        name = Strategy.APPEND.value
    predicates = config.get("predicates") or config.get("incremental_predicates") or []
    return StrategyConfig(name, [predicates] if isinstance(predicates, str) else list(predicates))


def compared_columns(
    config: Mapping[str, Any], columns: Sequence[str], partition_fields: Sequence[str]
) -> dict[str, list[str]]:
    """The columns by which new rows find the rows that they replace, by config.

    ``columns``: the names of the table's columns. ``partition_fields``: the table's partition fields, as Spark
    describes them.
    """
    name = strategy_config(config).name
    if name == Strategy.APPEND.value:
        return {}
    if name == Strategy.INSERT_OVERWRITE.value:
        return {"partition_by": columns_of(partition_fields, columns)}
    configs = ("event_time",) if name == _MICROBATCH else _COMPARED
    found = {each: config.get(each) or [] for each in configs}
    return {each: [names] if isinstance(names, str) else list(names) for each, names in found.items()}
