"""The catalogs of one call of the command, for planning and commits with PyIceberg."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..explain import job_errors
from ..metadata.failures import access_to
from ..metadata.pyiceberg_reader import PyIcebergReader, catalog_type
from ..table.history import History
from .target_commits import TargetCommits

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

_READ_ONLY = "hadoop"
_V3_WRITERS = ("rest",)
"""The types of catalogs whose server writes the metadata files. PyIceberg 0.12 does not write format v3."""


class JobCatalogs:
    """The command's catalogs. ``given``: properties by catalog, which override PyIceberg's own configuration."""

    def __init__(self, given: Mapping[str, Mapping[str, str]]) -> None:
        self._given = given
        self.reader = PyIcebergReader(self._properties)

    def commits(self, target: History) -> TargetCommits:
        """The interface for commits to a target. Raises ConfigError if PyIceberg cannot commit to it."""
        table = target.table
        properties = self._properties(table.catalog)
        kind = catalog_type(properties)
        if kind == _READ_ONLY:
            raise job_errors.read_only_catalog(table, kind)
        if target.format_version > 2 and kind not in _V3_WRITERS:
            raise job_errors.format_not_written(table, target.format_version, kind or "this")
        with access_to(f"catalog {table.catalog}", properties):
            return TargetCommits(table, _opened(table.catalog, properties), properties)

    def _properties(self, catalog: str) -> Mapping[str, Any]:
        """The properties of a catalog. Raises MetadataAccessError if there are none."""
        from pyiceberg.utils.config import Config

        found = {**(Config().get_catalog_config(catalog) or {}), **self._given.get(catalog, {})}
        if not found:
            raise job_errors.unknown_catalog(catalog)
        return found


def _opened(name: str, properties: Mapping[str, Any]) -> Catalog:
    from pyiceberg.catalog import load_catalog

    # otherwise, PyIceberg would create missing tables of the catalog in the database
    return load_catalog(name, **{"init_catalog_tables": "false", **properties})
