"""The objects that macros call as ``adapter.relations``, for example ``adapter.relations.seeds.columns(…)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from dbt.adapters.catalogs import CatalogIntegration

from iceberg_incremental import sql

from ..spark.connections import SparkIcebergConnectionManager
from .comments import Comments
from .contracts import Contracts
from .inserts import Inserts
from .lookup import Listing, RelationLookup
from .placement import Placement
from .seeds import Seeds
from .tables import Statements, Tables

if TYPE_CHECKING:
    import agate


class Relations:
    """One object for each topic.

    dbt also renders macros while it parses a project, without a connection. Macros that a project may call must
    therefore use these objects only if ``execute`` is true.
    """

    sql_string = staticmethod(sql.sql_string)
    sql_statements = staticmethod(sql.statements)

    def __init__(
        self,
        connections: SparkIcebergConnectionManager,
        default_catalog: str,
        settings: Callable[[], Mapping[str, str]],
        integration: Callable[[str], CatalogIntegration],
        convert_type: Callable[[agate.Table, int], str | None],
    ) -> None:
        """The arguments are those of RelationLookup, Placement and Seeds."""
        self.lookup = RelationLookup(connections, default_catalog, settings)
        self.placement = Placement(integration, default_catalog)
        self.tables = Tables(self.placement)
        self.contracts = Contracts(connections, self.lookup)
        self.comments = Comments(self.lookup)
        self.seeds = Seeds(convert_type)
        self.listing = Listing(self.lookup, default_catalog)
        self.inserts = Inserts(self.lookup)
        self.statements = Statements(connections)
