"""What the adapter says of misspelt macros before dbt compiles the models."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dbt.adapters.contracts.relation import RelationConfig

from ..operations.arguments import ARGUMENTS
from ..project.unknown_macros import misspelt
from .base import BaseHooks, logger


class SpellingHooks(BaseHooks):
    """What dbt calls once it has parsed the project, before it compiles the first model."""

    def set_relations_cache(self, relation_configs: Iterable[RelationConfig], *args: Any, **kwargs: Any) -> None:
        """Warn of misspelt macros, and fill dbt's cache of relations."""
        nodes: list[Any] = list(relation_configs)
        known = {macro.name for macro in getattr(self.get_macro_resolver(), "macros", {}).values()}
        for node in nodes:
            for name, meant in misspelt(str(getattr(node, "raw_code", "")), ARGUMENTS, known).items():
                logger.warning(f"{node.unique_id} calls {name}(), a macro that does not exist: did you mean {meant}()?")
        super().set_relations_cache(nodes, *args, **kwargs)
