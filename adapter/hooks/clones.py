"""The methods for the materialization of `dbt clone`: ``adapter.ip.clones``."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from dbt.adapters.base import BaseRelation

from iceberg_incremental.durations import duration
from iceberg_incremental.errors import NotIcebergError
from iceberg_incremental.publish.clones import CloneMaker, require_two
from iceberg_incremental.table.clone import NO_REMOVAL, RETENTION, still_forbidden

from ..project.graph import Node
from ..relations.lookup import ICEBERG
from . import hook_errors
from .invocation import Namespace

_WAYS = ("clone", "table", "view")


class CloneHooks(Namespace):
    """Clones of tables of another environment."""

    def way(self, node: Node, origin: BaseRelation | None, existing: BaseRelation | None) -> str:
        """How a relation is cloned: ``clone``, without a copy; ``table``, as a copy; or ``view``.

        ``origin``: None if it does not exist. ``existing``: the relation to replace. Raises ConfigError for another
        value of ``clone_as``, and if the origin itself would be replaced.
        """
        if origin is not None and existing is not None:
            require_two(self._adapter.metadata_reader(), *map(self._adapter.lookup.table_name, (origin, existing)))
        chosen = node["config"].get("clone_as") or _WAYS[0]
        if chosen not in _WAYS:
            raise hook_errors.unknown_clone_as(str(node["unique_id"]), chosen, _WAYS)
        if origin is None or not origin.is_table:
            return "view"
        if chosen == "clone" and self._adapter.lookup.provider(origin) != ICEBERG:
            return "view"
        return str(chosen)

    def make(self, node: Node, origin: BaseRelation, clone: BaseRelation, existing: BaseRelation | None) -> None:
        """Create a clone without a copy. ``existing``: the relation that it replaces, if any.

        Raises ConfigError for an invalid ``clone_retention``, and the errors of ``CloneMaker.make``.
        """

        def make_way() -> None:
            if existing is not None:
                self._adapter.drop_relation(existing)

        maker = CloneMaker(self._adapter.spark, self._adapter.metadata_reader())
        name, location = self._adapter.lookup.table_name, self._adapter.tables.location(node)
        maker.make(name(origin), name(clone), _retention(node["config"], node), location, make_way)

    def still_forbidden(self, node: Node, relation: BaseRelation) -> Mapping[str, str]:
        """The properties that a clone keeps when it is replaced, regardless of its config.

        Raises the errors of the reader.
        """
        wanted = self._adapter.tables.properties(node["config"])
        if not NO_REMOVAL.keys() & wanted:  # this avoids a catalog lookup in most builds
            return {}
        try:
            table = self._adapter.metadata_reader().load(self._adapter.lookup.table_name(relation))
        except NotIcebergError:
            return {}
        return still_forbidden(table, wanted)


def _retention(config: Mapping[str, Any], node: Node) -> timedelta:
    value = config.get("clone_retention")
    found = RETENTION if value is None else duration(value)
    if not found:
        raise hook_errors.unknown_retention(str(node["unique_id"]), value)
    return found
