"""Methods for dbt's own materializations (settings, execution and results), and for clones."""

from __future__ import annotations

import time
from collections.abc import Mapping

from dbt.adapters.base import BaseRelation
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.events.logging import AdapterLogger

from iceberg_incremental.errors import IncrementalError, NotIcebergError
from iceberg_incremental.explain import column_errors, target_errors
from iceberg_incremental.plan import session_settings as settings
from iceberg_incremental.plan.configs import NodeConfigs
from iceberg_incremental.publish.clones import CloneMaker, require_two
from iceberg_incremental.spark.port import under
from iceberg_incremental.sql import statements
from iceberg_incremental.table import layout
from iceberg_incremental.table.clone import NO_REMOVAL, still_forbidden
from iceberg_incremental.table.history import History
from iceberg_incremental.table.own_names import BEGUN_KEY
from iceberg_incremental.table.types import Trait, traits
from iceberg_incremental.write.versions.versioned import require_end

from ..project.graph import Node
from ..project.model_config import config_of
from ..relations.lookup import ICEBERG
from . import report
from .invocation import Namespace

logger = AdapterLogger("SparkIceberg")


class DbtModelHooks(Namespace):
    """The methods for the materializations ``incremental``, ``table`` and ``seed``: ``adapter.ip.dbt_models``."""

    def begin(self, node: Node) -> None:
        """Note the time at which the build of a table begins."""
        self._invocations.current().begun[node["unique_id"]] = int(time.time() * 1000)

    def begun(self, node: Node) -> Mapping[str, str]:
        """The property of a new table with the time at which its build began. Empty if this was not noted."""
        found = self._invocations.current().begun.get(node["unique_id"])
        is_iceberg = (node["config"].get("file_format") or ICEBERG) == ICEBERG
        return {BEGUN_KEY: str(found)} if found is not None and is_iceberg else {}

    def require_times(self, node: Node, query: str, hard_deletes: str, *, exists: bool) -> None:
        """Raise ConfigError if ``dbt_valid_to_current`` of a new snapshot is not a time.

        Also if ``updated_at`` cannot contain a time and deletions are recorded. ``hard_deletes``: how the snapshot
        treats deleted rows. ``exists``: whether its table exists.
        """
        end = node["config"].get("dbt_valid_to_current")
        if end and not exists:
            require_end(self._adapter.spark, node["unique_id"], str(end))
        updated_at = node["config"].get("updated_at")
        if not updated_at or hard_deletes == "ignore":
            return
        ((_, type_),) = self._adapter.spark.columns(f"select {updated_at} as updated_at from (\n{query}\n)")
        if Trait.NUMBER in traits(type_):  # which Spark does not combine with a timestamp in one column
            raise column_errors.no_time_of_deletion(node["unique_id"], updated_at, type_, hard_deletes)

    def require_one_spec(self, node: Node, target: BaseRelation) -> None:
        """Raise ConfigError for an insert_overwrite into a table with data files that it would not replace.

        Used for dbt's own incremental models, which write directly. Runs of this package check the staged files.
        """
        name = self._adapter.lookup.table_name(target)
        try:
            history = self._adapter.metadata_reader().load(name)
        except NotIcebergError:
            return
        if history is not None and history.current_snapshot_id is not None:
            specs = self._adapter.metadata_reader().live_specs(history, history.current_snapshot_id)
            if layout.has_older_specs(specs):
                raise target_errors.other_specs(name, node["unique_id"], specs)

    def run_strategy(self, relation: BaseRelation, sql: object, strategy: str) -> AdapterResponse:
        """Execute the statements of a strategy of dbt's ``incremental``, and count the rows of the last one."""
        before = self._glance(relation)
        response = AdapterResponse("OK")
        sent = statements(str(sql))
        with under(self._adapter.spark, settings.needed_by(strategy)):
            for statement in sent:
                response, _ = self._adapter.execute(statement, auto_begin=False, fetch=False)
        deleted = strategy != "delete+insert"  # it deletes old versions of the rows that it inserts
        rows = report.rows_since(before, self._glance(relation), len(sent), deleted=deleted)
        return report.counted(response, rows)

    def build_response(self, relation: BaseRelation, response: AdapterResponse) -> AdapterResponse:
        """The response of a statement that created a table, with the number of rows if the metadata contains it."""
        return report.counted(response, report.rows_built(self._glance(relation)))

    def _glance(self, relation: BaseRelation) -> History | None:
        try:
            return self._adapter.metadata_reader().load_without_statement(self._adapter.lookup.table_name(relation))
        except IncrementalError as error:
            logger.debug(f"The rows of {relation} are not counted: {error}")
            return None


class CloneHooks(Namespace):
    """Clones of tables of another environment."""

    def way(self, node: Node, origin: BaseRelation | None, existing: BaseRelation | None) -> str:
        """How a relation is cloned: ``clone``, without a copy; ``table``, as a copy; or ``view``.

        ``origin``: None if it does not exist. ``existing``: the relation to replace. Raises ConfigError for another
        value of ``clone_as``, and if the origin itself would be replaced.
        """
        if origin is not None and existing is not None:
            require_two(self._adapter.metadata_reader(), *map(self._adapter.lookup.table_name, (origin, existing)))
        chosen = config_of(node, NodeConfigs.clone_as)
        if origin is None or not origin.is_table:
            return "view"
        if chosen == "clone" and self._adapter.lookup.provider(origin) != ICEBERG:
            return "view"
        return chosen

    def make(self, node: Node, origin: BaseRelation, clone: BaseRelation, existing: BaseRelation | None) -> None:
        """Create a clone without a copy. ``existing``: the relation that it replaces, if any.

        Raises ConfigError for an invalid ``clone_retention``, and the errors of ``CloneMaker.make``.
        """

        def make_way() -> None:
            if existing is not None:
                self._adapter.drop_relation(existing)

        maker = CloneMaker(self._adapter.spark, self._adapter.metadata_reader())
        name, location = self._adapter.lookup.table_name, self._adapter.tables.location(node)
        maker.make(name(origin), name(clone), config_of(node, NodeConfigs.clone_retention), location, make_way)

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
