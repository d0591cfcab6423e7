"""What dbt's context says of a model, as one value."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from dbt.adapters.base import BaseRelation

from ..project.graph import Node

_LOOKING_ON = ("compile", "generate")
"""Commands that show SQL without running it."""


@dataclass(frozen=True)
class ModelContext:
    """A model while its SQL is compiled, as the macro ``_ip_context`` gathers it from dbt.

    ``this``: its table. ``full_refresh``: whether that is to be rebuilt. ``partial``: under ``--empty`` or
    ``--sample``. ``command``: dbt's, for example ``run``. ``selected``: the unique ids of what it runs.
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
        """Whether dbt tests the model's SQL on rows of its own."""
        return bool(self.node["resource_type"] == "unit_test")

    @property
    def only_shows_sql(self) -> bool:
        """Whether the command runs no model: a relation that is not there is then shown as it is written."""
        return self.command in _LOOKING_ON

    @property
    def only_documents(self) -> bool:
        """Whether the command is ``dbt docs generate``, which no model may stop."""
        return self.command == "generate"
