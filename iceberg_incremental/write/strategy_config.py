"""How a model is configured to write its rows, with the defaults: its strategy, and the predicates beside its keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..plan.policy import Policy, Strategy
from ..table.partitions import columns_of

_COMPARED = ("unique_key", "sequence_by", "merge_fixed_columns")
_MICROBATCH = "microbatch"
"""dbt's own strategy, which replaces the rows of a window of ``event_time``."""


@dataclass(frozen=True)
class StrategyConfig:
    """A model's ``incremental_strategy``, by its name, and its ``incremental_predicates``."""

    name: str
    predicates: list[str]


def strategy_config(config: Mapping[str, Any]) -> StrategyConfig:
    """Read the config of a model of this package, or of dbt's ``incremental``, which may name a project's own strategy.

    A merge without a unique_key matches no row, so that it only inserts: it is an append.
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
    """The columns by which a model's new rows find those that they replace, by the configs that name them.

    ``columns``: the names of the table's columns. ``partition_fields``: of the table, as Spark describes them.
    """
    name = strategy_config(config).name
    if name == Strategy.APPEND.value:
        return {}
    if name == Strategy.INSERT_OVERWRITE.value:
        return {"partition_by": columns_of(partition_fields, columns)}
    configs = ("event_time",) if name == _MICROBATCH else _COMPARED
    found = {each: config.get(each) or [] for each in configs}
    return {each: [names] if isinstance(names, str) else list(names) for each, names in found.items()}
