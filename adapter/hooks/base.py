"""What the hooks need of the adapter, and what they share."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark.impl import SparkAdapter
from dbt_common.invocation import get_invocation_id

from iceberg_incremental.capture.cuts import Cuts
from iceberg_incremental.capture.run import ModelRun
from iceberg_incremental.explain import model_errors
from iceberg_incremental.metadata import MetadataReader
from iceberg_incremental.metadata.describe import Description
from iceberg_incremental.plan import session_settings as settings
from iceberg_incremental.plan.event_window import EventWindow
from iceberg_incremental.publish.publisher import Publisher
from iceberg_incremental.spark.port import Spark
from iceberg_incremental.table.history import TableName

from ..project import graph as project
from ..project.jinja_scope import JinjaScope
from ..spark.python_models import PythonModel
from .captures import Invocation
from .context import Node

logger = AdapterLogger("SparkIceberg")


class BaseHooks(SparkAdapter):
    """What every group of hooks stands on. The abstract methods are the adapter's."""

    _invocation: Invocation | None = None
    _invocation_lock = threading.Lock()

    @abstractmethod
    def metadata_reader(self) -> MetadataReader:
        """The reader of table metadata for this profile."""

    @abstractmethod
    def table_name(self, relation: BaseRelation) -> TableName:
        """The three parts of a relation's name."""

    @property
    @abstractmethod
    def spark(self) -> Spark:
        """Spark by this thread's connection."""

    @abstractmethod
    def provider(self, relation: BaseRelation) -> str | None:
        """A table's format; None for a view or where there is no such table."""

    @abstractmethod
    def description(self, relation: BaseRelation, *, extended: bool = True) -> Description:
        """What DESCRIBE TABLE [EXTENDED] says of a relation."""

    @abstractmethod
    def table_properties(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The table properties that a model's config asks for, those of its catalog included."""

    @abstractmethod
    def run_python(self, model: PythonModel, view: str, *, once: bool) -> None:
        """Run a model in Python, and make a temporary view of its result; ``once``: its rows are computed once."""

    @property
    def default_catalog(self) -> str:
        """The catalog of a relation that names none."""
        return str(self.config.credentials.database)

    def table_in_use(self, node: Node, selected: Collection[str]) -> TableName:
        """The table that dbt's ref() or source() gives for a node: under --defer that of another environment.

        ``selected``: the unique ids that this invocation builds. The rule is dbt's: the own table, where there is one,
        unless --favor-state prefers the other for what is not selected.
        """
        own, deferred = project.table_of(node, self.default_catalog), node.get("defer_relation")
        if not deferred:
            return own
        favors = getattr(getattr(self.config, "args", None), "FAVOR_STATE", False)
        if favors and node["unique_id"] not in selected:
            return project.table_of(deferred, self.default_catalog)
        found = self.get_relation(own.catalog, own.namespace, own.name)
        return project.table_of(deferred, self.default_catalog) if found is None else own

    def column_types(self, relation: BaseRelation) -> Mapping[str, str]:
        """The types of a relation's columns by their names, both as Spark has them."""
        return {column.name: str(column.dtype) for column in self.get_columns_in_relation(relation)}

    def first_row(self, sql: str) -> Sequence[Any]:
        """The first row of a SELECT of ``ip_range``. Raises ConfigError under settings that change what it means."""
        self.refuse_settings("ip_range")
        return self.spark.rows(sql)[0]

    def event_window(self) -> EventWindow | None:
        """The window of ``--event-time-start`` and ``--event-time-end``; None without these options."""
        options = getattr(self.config, "args", None)
        start, end = (getattr(options, name, None) for name in ("EVENT_TIME_START", "EVENT_TIME_END"))
        return None if start is None or end is None else EventWindow(start, end)

    def jinja_scope(self) -> JinjaScope:
        """What the project's Jinja can read; found once in an invocation, since it looks at every macro of dbt."""
        invocation = self.current_invocation()
        if invocation.scope is None:
            macros = getattr(self.get_macro_resolver(), "macros", {}).values()  # dbt-core's resolver is its manifest
            invocation.scope = JinjaScope.of(self.config, macros)
        return invocation.scope

    def current_invocation(self) -> Invocation:
        """The state of this invocation; a new one where dbt is called again in the same process."""
        invocation_id = get_invocation_id()
        with self._invocation_lock:
            if self._invocation is None or self._invocation.invocation_id != invocation_id:
                self._invocation = Invocation(invocation_id, Cuts(self.metadata_reader))
            return self._invocation

    def run_if_opened(self, node: Node) -> ModelRun | None:
        """The run of a model; None where no macro of its SQL has opened one, as in dbt's own incremental models."""
        return self.current_invocation().runs.get(node["unique_id"])

    def opened_run(self, node: Node) -> ModelRun:
        """The run of a model that has been begun."""
        return self.current_invocation().runs[node["unique_id"]]

    def publisher(self) -> Publisher:
        """What commits on this thread's connection."""
        return Publisher(self.spark, self.metadata_reader())

    def refuse_settings(self, who: str, *, everywhere: bool = False) -> None:
        """Raise ConfigError under settings of the session with which our SQL would mean something else.

        ``who``: what would run under them. ``everywhere``: only those that also harm what is no incremental processing.
        """
        keys = [each.key for each in settings.REFUSED]
        found = settings.refused_in(self.spark.settings(keys), everywhere=everywhere)
        if found:
            raise model_errors.refused_settings(who, found)
