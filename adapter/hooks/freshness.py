"""``dbt source freshness`` of sources without ``loaded_at_field``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.base.impl import FreshnessResponse
from dbt.adapters.contracts.connection import AdapterResponse
from dbt_common.exceptions import DbtRuntimeError

from ..operations.freshness import last_modified
from ..relations.many import over_many
from ..spark.as_dbt import raising_dbts
from .base import BaseHooks, logger


class FreshnessHooks(BaseHooks):
    """What dbt calls under its capabilities TableLastModifiedMetadata and TableLastModifiedMetadataBatch."""

    def calculate_freshness_from_metadata_batch(
        self, sources: Sequence[BaseRelation], macro_resolver: Any = None
    ) -> tuple[list[AdapterResponse | None], dict[BaseRelation, FreshnessResponse]]:
        """The freshness of many sources, by their metadata alone.

        A source that fails is left out: dbt then asks for it by itself, and shows its error as that source's.
        """
        found: dict[BaseRelation, FreshnessResponse] = {}
        with self.connection_named("freshness"):  # dbt calls this without one
            results = over_many(self, "freshness", sources, self._freshness)
        for source, result in results:
            if isinstance(result, DbtRuntimeError):
                logger.debug(f"No freshness of {source}: {result}")
            else:
                found[source] = result
        return [], found

    @raising_dbts
    def calculate_freshness_from_metadata(
        self, source: BaseRelation, macro_resolver: Any = None
    ) -> tuple[AdapterResponse | None, FreshnessResponse]:
        """The freshness of one source, by its metadata alone. Raises as ``freshness.last_modified`` does."""
        return None, self._freshness(source)

    @raising_dbts
    def _freshness(self, source: BaseRelation) -> FreshnessResponse:
        modified = last_modified(self.metadata_reader(), self.table_name(source))
        # None stands for "infinitely long ago", by dbt's own rule.
        return self._create_freshness_response(modified, datetime.now(timezone.utc))
