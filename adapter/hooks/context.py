"""The values of dbt's context for a model."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from dbt.adapters.base import BaseRelation

from ..project.graph import Node

_WITHOUT_RUNS = ("compile", "generate")
"""The commands that compile models without running them."""


@dataclass(frozen=True)
class ModelContext:
    """A model during compilation, with values that the macro ``_ip_context`` collects from dbt.

    ``this``: its table. ``full_refresh``: whether the table is rebuilt. ``partial``: whether dbt runs with ``--empty``
    or ``--sample``. ``command``: dbt's command, for example ``run``. ``selected``: the unique ids of the selected
    nodes.
    """

    node: Node
    this: BaseRelation
    full_refresh: bool
    partial: bool
    command: str
    graph: Mapping[str, Any]
    selected: Collection[str]

    @property
    def unique_id(self) -> str:
        """The model's unique id."""
        return str(self.node["unique_id"])

    @property
    def is_unit_test(self) -> bool:
        """Whether dbt runs a unit test of the model, with mock rows."""
        return bool(self.node["resource_type"] == "unit_test")

    @property
    def only_shows_sql(self) -> bool:
        """Whether the command runs no models. Macros then return relations that do not exist unchanged."""
        return self.command in _WITHOUT_RUNS

    @property
    def only_documents(self) -> bool:
        """Whether the command is ``dbt docs generate``, which must not fail because of a model."""
        return self.command == "generate"
