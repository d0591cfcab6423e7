"""What the adapter says of misspelt macros, and of configs without effect, before dbt compiles the models."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dbt.adapters.contracts.relation import RelationConfig

from iceberg_incremental.explain import wording
from iceberg_incremental.plan.policy import MATERIALIZATION

from ..operations.arguments import ARGUMENTS
from ..project.configs import ONLY_HERE
from ..project.unknown_macros import misspelt
from .base import BaseHooks, logger


class SpellingHooks(BaseHooks):
    """What dbt calls once it has parsed the project, before it compiles the first model."""

    def set_relations_cache(self, relation_configs: Iterable[RelationConfig], *args: Any, **kwargs: Any) -> None:
        """Warn of misspelt macros and of configs without effect, and fill dbt's cache of relations."""
        nodes: list[Any] = list(relation_configs)
        known = {macro.name for macro in getattr(self.get_macro_resolver(), "macros", {}).values()}
        for node in nodes:
            for name, meant in misspelt(str(getattr(node, "raw_code", "")), ARGUMENTS, known).items():
                logger.warning(f"{node.unique_id} calls {name}(), a macro that does not exist: did you mean {meant}()?")
        for config in ONLY_HERE:
            if named := [str(node.unique_id) for node in nodes if _is_passed_over(config, node)]:
                logger.warning(wording.config_without_effect(config, named))
        super().set_relations_cache(nodes, *args, **kwargs)


def _is_passed_over(config: str, node: Any) -> bool:
    """Whether a model of another materialization sets a config of ours."""
    is_ours = node.config.materialized == MATERIALIZATION
    return not is_ours and node.resource_type == "model" and bool(node.config.get(config))
