"""What macros reach as ``adapter.relations``, for example ``adapter.relations.seeds.columns(…)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.catalogs import CatalogIntegration

from iceberg_incremental import sql

from ..spark.connections import SparkIcebergConnectionManager
from .comments import Comments
from .contracts import Contracts
from .functions import Functions
from .grants import Grants
from .lookup import RelationLookup
from .placement import Placement
from .seeds import Seeds
from .tables import Tables

if TYPE_CHECKING:
    import agate


@dataclass(frozen=True)
class Relations:
    """One object for each subject.

    dbt also renders macros while it parses, without a connection. A macro that a project may call asks nothing here
    unless dbt executes.
    """

    lookup: RelationLookup
    placement: Placement
    tables: Tables
    contracts: Contracts
    comments: Comments
    seeds: Seeds
    functions: Functions
    grants: Grants

    sql_string = staticmethod(sql.sql_string)
    sql_statements = staticmethod(sql.statements)

    @classmethod
    def by(
        cls,
        connections: SparkIcebergConnectionManager,
        default_catalog: str,
        settings: Callable[[], Mapping[str, str]],
        integration: Callable[[str], CatalogIntegration],
        convert_type: Callable[[agate.Table, int], str | None],
    ) -> Relations:
        """The objects of one adapter. The arguments are those of RelationLookup, Placement and Seeds."""
        lookup = RelationLookup(connections, default_catalog, settings)
        placement = Placement(integration, default_catalog)
        return cls(
            lookup,
            placement,
            Tables(placement),
            Contracts(connections, lookup),
            Comments(lookup),
            Seeds(convert_type),
            Functions(connections),
            Grants(connections),
        )
