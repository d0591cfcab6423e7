"""How a model is configured to write its rows, with the defaults: its strategy, and the predicates beside its keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..plan.policy import Policy, Strategy


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
