"""What the macros call: the adapter's ``ip_`` methods. The rules are elsewhere; here they meet dbt."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dbt.adapters.base import BaseRelation, available
from dbt.adapters.base.column import Column
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.contracts.relation import RelationType
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark.impl import SparkAdapter
from dbt_common.exceptions import DbtRuntimeError
from dbt_common.invocation import get_invocation_id

from ..sql import plain_name, sql_name, sql_string, statements
from .capture.cuts import Cuts
from .capture.open import open_run
from .capture.reads import capture_as_of, capture_changelog, capture_changes, capture_groups
from .capture.run import Action, ModelRun
from .capture.standing import standing_of
from .errors import IncrementalError, NotIcebergError, SourceMissingError
from .explain import column_errors, model_errors, target_errors, window_errors, wording
from .expose import relations as expose
from .expose.event_window import inside_sql
from .expose.groups import rows_sql
from .expose.value_range import EMPTY, ValueRange, capture_range, from_query
from .metadata import MetadataReader
from .operations import set_checkpoint, show_ledger, show_status
from .operations.arguments import ARGUMENTS
from .plan.event_window import EventWindow, holds_whole_partitions
from .plan.policy import MATERIALIZATION, Strategy
from .plan.ranges import CHANGE_TYPE, NetChanges
from .project import graph as project
from .project import partition_config
from .project.conditional_reads import Macros, reads_of
from .project.model_config import policy_of
from .publish import report, settings
from .publish.columns import SchemaChanges, key_columns, schema_changes, updated_columns, written_columns
from .publish.publisher import Configure, Publisher, Then, branch_of
from .publish.replacement import Inserted, Replacement, delete_sql, duplicates_of, inserted, strays_of
from .publish.report import IncrementalResponse
from .publish.unique_keys import raise_sql, raise_taken_sql
from .table import partitions
from .table.changed_files import METADATA_COLUMNS
from .table.checkpoint import KEY
from .table.history import History, Snapshot, TableName

logger = AdapterLogger("SparkIceberg")

_Node = Mapping[str, Any]
"""A node as the context of a model gives it to macros."""

_OWN_PACKAGES = ("dbt", "dbt_spark", "dbt_spark_iceberg")

_NOT_DETERMINISTIC = "INVALID_NON_DETERMINISTIC_EXPRESSIONS"
"""Spark's error of a statement that has it compute an expression twice, or where there is no row to compute it for."""

_REPLACING = tuple(strategy.value for strategy in Strategy if strategy.is_keyed)
"""Strategies that find rows of the target by Iceberg's metadata columns."""

_LOOKING_ON = ("compile", "generate")
"""Commands that show SQL without running it: what cannot be captured is then shown as the relation it stands for."""


class Invocation:
    """The captures of one dbt invocation, shared by its threads. A model is run by one thread."""

    def __init__(self, invocation_id: str, cuts: Cuts) -> None:
        self.invocation_id = invocation_id
        self.cuts = cuts
        self.runs: dict[str, ModelRun] = {}


class IncrementalHooks(SparkAdapter):
    """The part of the adapter that incremental processing adds; the adapter gives it the reader and the names."""

    _invocation: Invocation | None = None
    _invocation_lock = threading.Lock()

    def metadata_reader(self) -> MetadataReader:
        """The reader of table metadata for this profile."""
        raise NotImplementedError

    def table_name(self, relation: BaseRelation) -> TableName:
        """The three parts of a relation's name."""
        raise NotImplementedError

    def session_configure(self) -> Configure | None:
        """What sets this thread's session without a statement; None where the session is a server's."""
        raise NotImplementedError

    def session_settings(self, keys: Collection[str]) -> Mapping[str, str]:
        """Which of some settings this thread's session has now, with their values."""
        raise NotImplementedError

    def provider(self, relation: BaseRelation) -> str | None:
        """A table's format; None for a view or where there is no such table."""
        raise NotImplementedError

    @available
    def ip_require_arguments(self, macro: str, positional: Sequence[object], named: Mapping[str, object]) -> None:
        """Raise ConfigError for arguments that a macro does not take: what it got beyond its own."""
        if positional or named:
            raise model_errors.unknown_arguments(macro, ARGUMENTS[macro], len(positional), list(named))

    @available.parse(lambda self, macro, relation, *args: relation)
    def ip_read(
        self,
        macro: str,
        relation: object,
        node: _Node,
        this: BaseRelation,
        full_refresh: bool,
        partial: bool,
        command: str,
        graph: Mapping[str, Any],
        selected: Collection[str],
        arguments: Mapping[str, Any],
    ) -> object:
        """What a macro that reads a relation stands for in a model's SQL: text, or the relation as dbt gave it.

        ``partial``: under ``--empty`` or ``--sample``. ``command``: dbt's, for example ``run``. ``selected``: the
        unique ids of what it runs. ``arguments``: the further arguments of the macro.
        Raises IncrementalError in all its kinds.
        """
        relations = _relations(macro, relation, several=macro == "ip_range")
        if node["resource_type"] == "unit_test":
            return _as_given(macro, relation)
        for each in relations:
            if each.type == RelationType.CTE:
                raise model_errors.ephemeral(macro, str(each.identifier), node["unique_id"])
        try:
            run = self._run(macro, node, this, full_refresh, graph, selected)
            if partial:
                run.passes_through = True
                if macro == "ip_range":
                    column = _one_column(macro, arguments["column"], run.model)
                    return from_query([str(each) for each in relations], column, self._first_row)
                return _as_given(macro, relation)
            return self._captured(macro, run, relations, arguments)
        except SourceMissingError:
            if command not in _LOOKING_ON:
                raise
        except IncrementalError as error:
            if command != "generate":
                raise
            logger.warning(f"{node['unique_id']} is documented without its captured range. {error}")
        return _as_given(macro, relation)

    @available.parse(lambda *args: False)
    def ip_is_incremental(
        self, node: _Node, this: BaseRelation, full_refresh: bool, graph: Mapping[str, Any], selected: Collection[str]
    ) -> bool:
        """Whether a model of this materialization continues its table, so that ``is_incremental()`` is true."""
        return not self._run("is_incremental", node, this, full_refresh, graph, selected).is_rebuild

    @available.parse_none
    def ip_begin(self, node: _Node) -> str:
        """The action that the materialization shall take for a model, after it was compiled. Logs what was captured.

        Raises ConfigError for a model whose SQL captures nothing.
        """
        run = self._current().runs.get(node["unique_id"])
        if run is None or not (run.captured or run.passes_through):
            policy_of(node["config"], node["unique_id"])
            only_incremental = run is not None and run.reads.has_incremental_calls
            raise model_errors.no_capture(node["unique_id"], only_incremental=only_incremental)
        left_out = run.reads.only_incremental - run.captured.keys()
        if run.is_rebuild and not run.passes_through and left_out:
            raise model_errors.captured_later(run.model, left_out)
        if run.window is not None and _names_table(str(node.get("compiled_code") or ""), run.name):
            raise window_errors.window_of_itself(run.model)
        if run.captured:
            logger.info(wording.captured(run.captured.values()))
        if run.is_rebuild:
            (logger.info if run.by_policy else logger.debug)(f"{run.model} is built as a whole: {run.reason}")
        return run.action.value

    @available.parse_none
    def ip_require_replaceable(self, node: _Node, existing: BaseRelation | None, full_refresh: bool) -> None:
        """Refuse to build a model in the place of a table that is not Iceberg's, unless that is asked for.

        Raises CheckpointError.
        """
        run = self._current().runs[node["unique_id"]]
        if run.target is not None or full_refresh or existing is None or existing.is_view:
            return
        provider = self.provider(existing)
        if provider is not None and not run.policy.replaces_unknown_tables:
            raise target_errors.not_built_by(run.name, run.model, provider)

    @available.parse_none
    def ip_require_partitions(self, node: _Node, target: BaseRelation, described: Any) -> None:
        """Refuse an insert_overwrite into a table that is partitioned in another way than the model is configured.

        ``described``: the rows of DESCRIBE TABLE. Raises ConfigError.
        """
        name, model = self.table_name(target), node["unique_id"]
        configured = partitions.configured(partition_config.fields(node["config"].get("partition_by"), model))
        found = partitions.described(described)
        if configured and set(configured) != set(found):
            raise target_errors.other_partitioning(name, model, configured, found)

    @available.parse_none
    def ip_require_one_spec(self, node: _Node, target: BaseRelation) -> None:
        """Refuse an insert_overwrite into a table with data files that it would not replace. Raises ConfigError.

        For dbt's own incremental model, which writes where it is read; a run of ours looks at what it has staged.
        """
        name = self.table_name(target)
        try:
            history = self.metadata_reader().load(name)
        except NotIcebergError:
            return
        if history is not None and history.current_snapshot_id is not None:
            specs = self.metadata_reader().live_specs(history, history.current_snapshot_id)
            if partitions.has_older(specs):
                raise target_errors.other_specs(name, node["unique_id"], specs)

    @available.parse_none
    def require_settings(self, node: _Node, everywhere: bool = False) -> None:
        """Refuse to write for a node under settings of the session with which our SQL would mean something else.

        ``everywhere``: only those that also harm what is no incremental processing. Raises ConfigError.
        """
        self._require_settings(node["unique_id"], everywhere=everywhere)

    @available.parse_none
    def ip_rebuild(self, node: _Node, sql: str) -> IncrementalResponse:
        """Build the table as a whole by a CREATE OR REPLACE TABLE AS, with the checkpoint in its commit."""
        run = self._current().runs[node["unique_id"]]
        if run.passes_through:
            self._publisher().build_partial(run, sql)
            return report.response(run, None)
        return report.response(run, self._publisher().rebuild(run, sql))

    @available.parse(lambda *args: False)
    def ip_is_keyed(self, node: _Node) -> bool:
        """Whether the rows of a model's table are told apart by its unique_key."""
        return self._current().runs[node["unique_id"]].policy.strategy.is_keyed

    @available.parse_none
    def ip_staged(self, node: _Node, target: BaseRelation) -> BaseRelation:
        """The branch of a model's table that its run writes to; what is written there is published afterwards."""
        return target.replace(branch=branch_of(self._current().runs[node["unique_id"]]))

    @available.parse_none
    def ip_apply(self, node: _Node, sql: str, replacing: Sequence[Column] | None = None) -> IncrementalResponse:
        """Apply the captured rows by a statement, with the checkpoint in the commit that publishes them.

        ``replacing``: the columns of the rows that it inserts, where the rows that they replace are to be deleted.
        """
        run = self._current().runs[node["unique_id"]]
        then = None if replacing is None else self._deletion(run, replacing)
        try:
            return report.response(run, self._publisher().apply(run, sql, run.policy.strategy.settings, then))
        except DbtRuntimeError as error:
            if _NOT_DETERMINISTIC not in str(error):
                raise
            raise model_errors.not_deterministic(run.model, error.msg.splitlines()[0]) from error

    @available.parse(lambda *args: False)
    def ip_replaces(
        self, node: _Node, written: Sequence[Column], columns: Sequence[Column], predicates: Sequence[str]
    ) -> bool:
        """Whether a merge may delete the rows that it replaces, instead of updating them: if it writes all columns.

        Raises ConfigError where it may not, and the model replaces whole groups.
        """
        run = self._current().runs.get(node["unique_id"])
        if run is None:  # dbt's own incremental model, which shares the statement
            return False
        names = {column.name for column in written}
        missing = [column.name for column in columns if column.name not in names]
        if missing and run.groups is not None:
            raise model_errors.groups_need_all_columns(run.model, missing)
        return run.policy.replaces_rows and not missing and not predicates

    @available.parse_list
    def ip_overwriting_values(self, node: _Node, columns: Sequence[Column]) -> list[str]:
        """What an INSERT OVERWRITE writes into its columns: the new rows' values.

        Where a window is processed again, a row outside of it fails. That is said of its event time, and not as a
        condition, which Spark would push below the joins that leave the row out.
        Raises ConfigError where the window does not consist of whole partitions.
        """
        values = {column.name: sql_name(column.name) for column in columns}
        run, config = self._current().runs.get(node["unique_id"]), node["config"]
        if run is None or run.window is None:  # without a run: dbt's own incremental model, which shares the statement
            return list(values.values())
        column, partition_by = str(config["event_time"]), config.get("partition_by")
        others = {name for name in run.event_times.values() if plain_name(name).lower() != plain_name(column).lower()}
        if others:
            raise window_errors.other_event_times(run.model, column, others)
        if not holds_whole_partitions(run.window, partition_by, plain_name(column)):
            raise window_errors.window_cuts_partitions(run.window, run.model, column, partition_by)
        said = sql_string(window_errors.outside_window(run.window, column))
        (name,) = key_columns(columns, column, config="event_time")
        inside = inside_sql(run.window, column)
        values[name] = f"case when {inside} then {values[name]} else raise_error({said}) end as {values[name]}"
        return list(values.values())

    @available
    def ip_table_properties(self, node: _Node) -> Mapping[str, str]:
        """The properties that a model's table is made with, beside those of its config."""
        given = node["config"].get("tblproperties") or {}
        policy = policy_of(node["config"], node["unique_id"])
        return {key: value for key, value in policy.strategy.table_defaults.items() if key not in given}

    @available.parse_none
    def ip_finish(self, node: _Node) -> IncrementalResponse:
        """End a run that writes no rows; moves the checkpoint if the sources have commits without rows."""
        run = self._current().runs[node["unique_id"]]
        if run.action is not Action.ADVANCE:
            return report.response(run, None)
        self._require_settings(run.model)
        return report.response(run, self._publisher().advance(run))

    @available.parse_none
    def ip_schema_changes(
        self,
        node: _Node,
        target: BaseRelation,
        on_schema_change: str,
        given: Sequence[Column],
        columns: Sequence[Column],
    ) -> SchemaChanges:
        """How a target is altered before a model's rows go into it. Logs which of their columns are passed over.

        Raises ConfigError where that would change or lose a value unsaid.
        """
        table, model = self.table_name(target), node["unique_id"]
        reserved = [column.name for column in columns if column.name.lower() in METADATA_COLUMNS]
        if reserved and node["config"].get("incremental_strategy") in _REPLACING:
            raise model_errors.reserved_columns(reserved, model)
        changes = schema_changes(on_schema_change, given, columns, table, model)
        if changes.passed_over:
            logger.info(column_errors.passed_over(table, model, changes.passed_over))
        return changes

    @available.parse_list
    def ip_written_columns(self, source: Sequence[Column], target: Sequence[Column]) -> list[Column]:
        """The target's columns that the model's SQL gives a value for, whatever the case they are written in."""
        return written_columns(source, target)

    @available.parse_list
    def ip_updated_columns(self, columns: Sequence[Column], config: Mapping[str, Any]) -> list[Column]:
        """The columns that a MERGE updates in matched rows: all written ones, or as the model is configured.

        Raises ConfigError for a column that the model does not give.
        """
        return updated_columns(columns, config.get("merge_update_columns"), config.get("merge_exclude_columns"))

    @available
    def ip_quoted(self, name: str) -> str:
        """A column's name as the user configured it, back-quoted if it is not yet."""
        return sql_name(plain_name(name))

    @available.parse_list
    def ip_key_columns(self, unique_key: str | Sequence[str], columns: Sequence[Column]) -> list[str]:
        """The columns of the unique_key, back-quoted. Raises ConfigError for one that the model does not give."""
        return [sql_name(name) for name in key_columns(columns, unique_key)]

    @available
    def ip_raise_duplicate_key(self, node: _Node, keys: Sequence[str], count: str) -> str:
        """The SQL expression that fails for a row whose key comes ``count`` times; ``keys`` may be back-quoted."""
        return raise_sql(node["unique_id"], [plain_name(key) for key in keys], count)

    @available
    def ip_raise_taken_key(self, node: _Node, keys: Sequence[str], alias: str) -> str:
        """The SQL expression that fails for an inserted row whose key the table has; ``keys`` may be back-quoted."""
        return raise_taken_sql(node["unique_id"], [plain_name(key) for key in keys], alias)

    @available.parse(lambda *args: False)
    def ip_shows_old_rows(self, node: _Node) -> bool:
        """Whether each row that a model's changes replace or delete comes with them: if ip_changelog gives them."""
        run = self._current().runs[node["unique_id"]]
        return bool(run.changelogs) and not run.ranges

    @available.parse_none
    def ip_require_change_type(self, columns: Sequence[Column], model: str) -> None:
        """Raise ConfigError unless the rows for ``apply_changes`` say what to do with them."""
        names = [column.name for column in columns]
        if CHANGE_TYPE not in (name.lower() for name in names):
            raise model_errors.no_change_type(model, names)

    @available.parse_none
    def run_strategy(self, relation: BaseRelation, sql: str, strategy: str) -> AdapterResponse:
        """Run the statements of a strategy of dbt's ``incremental``; counts the rows that the last one wrote."""
        before = self._glance(relation)
        response = AdapterResponse("OK")
        sent = statements(sql)
        overwriting = {settings.OVERWRITE_SETTING: "dynamic"} if strategy == "insert_overwrite" else {}
        with self._publisher().under(overwriting):
            for statement in sent:
                response, _ = self.execute(statement, auto_begin=False, fetch=False)
        deleted = strategy != "delete+insert"  # these are replaced by rows that count
        rows = report.rows_since(before, self._glance(relation), len(sent), deleted=deleted)
        return report.counted(response, rows)

    @available.parse_none
    def build_response(self, relation: BaseRelation, response: AdapterResponse) -> AdapterResponse:
        """The response of a statement that made a table, with the number of its rows where metadata tell it."""
        return report.counted(response, report.rows_built(self._glance(relation)))

    def _glance(self, relation: BaseRelation) -> History | None:
        try:
            return self.metadata_reader().glance(self.table_name(relation))
        except IncrementalError as error:
            logger.debug(f"The rows of {relation} are not counted: {error}")
            return None

    @available.parse_none
    def ip_set_checkpoint(self, graph: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
        """Set a model's checkpoint by hand: ``set_checkpoint.set_checkpoint``."""
        self._require_settings("ip_set_checkpoint")
        catalog = self.config.credentials.database
        reader, publisher = self.metadata_reader(), self._publisher()
        return set_checkpoint.set_checkpoint(reader, publisher, graph, catalog, get_invocation_id(), arguments)

    @available.parse_none
    def ip_status(self, graph: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
        """The status of the project's incremental models: ``show_status.status``."""
        catalog, macros = self.config.credentials.database, self._project_macros()
        return show_status.status(self.metadata_reader(), graph, catalog, macros, arguments)

    @available.parse_none
    def ip_ledger(self, graph: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
        """What each commit of a model consumed: ``show_ledger.show``."""
        return show_ledger.show(self.metadata_reader(), graph, self.config.credentials.database, arguments)

    def ip_stats(self, relation: BaseRelation) -> Mapping[str, tuple[str, object, str]]:
        """The rows of a table, and its checkpoint in force, as stats for the docs: id → (label, value, description)."""
        rows: Mapping[str, tuple[str, object, str]] = {}
        try:
            history = self.metadata_reader().load(self.table_name(relation))
            if history is None:
                return {}
            rows = report.row_stats(history)
            if KEY not in history.properties:
                return rows
            checkpoint = standing_of(history, self.metadata_reader()).checkpoint
        except IncrementalError as error:
            logger.debug(f"Not all stats of {relation} are shown: {error}")
            return rows
        return rows if checkpoint is None else {**rows, **report.stats(checkpoint)}

    def _deletion(self, run: ModelRun, columns: Sequence[Column]) -> Then:
        """What gives the DELETE of the rows that those of a commit replace."""
        types = {column.name.lower(): str(column.dtype) for column in columns}
        keys = key_columns(columns, run.policy.unique_key)
        replacement = Replacement(
            tuple(keys),
            tuple(types[key.lower()] for key in keys),
            tuple(key_columns(columns, run.policy.fixed_columns, "merge_fixed_columns")),
            run.groups,
        )
        if run.groups is not None and run.groups.changes:
            here = tuple(types[key.lower()] for key in run.groups.keys)
            if here != run.groups.types:
                both = {"the changed relations": run.groups.types, str(run.name): here}
                raise model_errors.other_key_types(run.model, _listed_types(both, run.groups.keys))

        def delete(target: History, commit: Snapshot) -> str:
            files = self.metadata_reader().data_files(target, commit.snapshot_id, [commit.snapshot_id])
            new = inserted(target, commit, files)
            self._require_unique_keys(run, new, replacement)
            self._require_changed_groups(run, new)
            return delete_sql(new, replacement)

        return delete

    def _require_unique_keys(self, run: ModelRun, new: Inserted, replacement: Replacement) -> None:
        """Raise DuplicateKeyError where more than one of the inserted rows has the same key."""
        rows = self._rows(duplicates_of(new, replacement))
        if rows:
            raise model_errors.duplicate_keys(run.model, replacement.unique_key, wording.duplicates(rows))

    def _require_changed_groups(self, run: ModelRun, new: Inserted) -> None:
        """Raise ConfigError where an inserted row is of a group that did not change: not all of its rows were read."""
        if run.groups is None or not run.groups.changes:
            return
        rows = self._rows(strays_of(new, run.groups))
        if rows:
            raise model_errors.unchanged_groups(run.model, run.groups.keys, wording.duplicates(rows))

    def _rows(self, sql: str) -> list[Any]:
        _, found = self.execute(sql, auto_begin=False, fetch=True)
        return [tuple(row) for row in found.rows]

    def _captured(
        self, macro: str, run: ModelRun, relations: Sequence[BaseRelation], arguments: Mapping[str, Any]
    ) -> str | ValueRange:
        """Capture what a macro reads of its relations."""
        cuts, sources = self._current().cuts, self._tables(macro, run, relations)
        match macro:
            case "ip_changes":
                return expose.changes_sql(capture_changes(run, cuts, sources[0]))
            case "ip_changelog":
                return self._changelog(run, sources[0], arguments["unique_key"])
            case "ip_changed_groups":
                changes_of = arguments["changes_of"]
                changed = relations if changes_of is None else _relations(macro, changes_of, several=True)
                return self._changed_groups(run, relations[0], changed, arguments["keys"])
            case "ip_range":
                column = _one_column(macro, arguments["column"], run.model)
                return capture_range(run, cuts, column, sources, self._first_row)
            case _:
                return expose.as_of_sql(capture_as_of(run, cuts, sources[0]))

    def _tables(self, macro: str, run: ModelRun, relations: Sequence[BaseRelation]) -> list[TableName]:
        sources = [self.table_name(each) for each in relations]
        if run.name in sources:
            raise model_errors.reads_itself(macro, run.model)
        return sources

    def _changelog(self, run: ModelRun, source: TableName, unique_key: object) -> str:
        names = _column_names("ip_changelog", unique_key or [], run.model)
        planned = capture_changelog(run, self._current().cuts, source)
        if isinstance(planned, NetChanges):
            model_errors.require_columns("ip_changelog", names, planned.net.changed.end, source, run.model)
        return expose.changelog_sql(planned, names)

    def _changed_groups(
        self, run: ModelRun, relation: BaseRelation, changes_of: Sequence[BaseRelation], keys: object
    ) -> str:
        macro = "ip_changed_groups"
        names = _column_names(macro, keys, run.model)
        policy = run.policy
        in_key = {plain_name(name).lower() for name in policy.unique_key}
        if not policy.replaces_rows or not names or not in_key.issuperset(name.lower() for name in names):
            raise model_errors.groups_need_merge(run.model, policy, names)
        (source,), changed = self._tables(macro, run, [relation]), self._tables(macro, run, changes_of)
        pinned = capture_as_of(run, self._current().cuts, source)
        groups = capture_groups(run, self._current().cuts, names, changed)
        if run.is_rebuild:
            return expose.as_of_sql(pinned)
        if not groups.changes:
            return expose.no_rows_sql(pinned)
        types = {
            str(table): self._types(each, names)
            for table, each in zip([source, *changed], [relation, *changes_of], strict=True)
        }
        if len(set(types.values())) > 1:
            raise model_errors.other_key_types(run.model, _listed_types(types, names))
        groups = replace(groups, types=types[str(source)])
        if run.groups is None or not run.groups.types:
            run.groups = groups
        return expose.as_of_sql(pinned) if pinned.end is None else rows_sql(expose.as_of_sql(pinned), groups)

    def _types(self, relation: BaseRelation, names: Sequence[str]) -> tuple[str, ...]:
        """The types of some columns of a relation, by Spark's names; '' for one that it has not."""
        known = {column.name.lower(): str(column.dtype) for column in self.get_columns_in_relation(relation)}
        return tuple(known.get(name.lower(), "") for name in names)

    def _require_settings(self, who: str, *, everywhere: bool = False) -> None:
        found = settings.refused_in(
            self.session_settings([each.key for each in settings.REFUSED]), everywhere=everywhere
        )
        if found:
            raise model_errors.refused_settings(who, found)

    def _first_row(self, sql: str) -> Sequence[Any]:
        self._require_settings("ip_range")
        _, table = self.execute(sql, auto_begin=False, fetch=True)
        return tuple(table.rows[0])

    def _run(
        self,
        macro: str,
        node: _Node,
        this: BaseRelation,
        full_refresh: bool,
        graph: Mapping[str, Any],
        selected: Collection[str],
    ) -> ModelRun:
        model, config = node["unique_id"], node["config"]
        if config["materialized"] != MATERIALIZATION:
            raise model_errors.wrong_materialization(macro, model, config["materialized"])
        invocation = self._current()
        run = invocation.runs.get(model)
        if run is None:
            catalog = self.config.credentials.database
            invocation.cuts.take_together(lambda: project.outside_parents(graph, {*selected, model}, catalog))
            nodes = {project.table_of(parent, catalog): parent for parent in project.parents_of(graph, node)}
            parents = {table: parent["config"].get("event_time") for table, parent in nodes.items()}
            run = invocation.runs[model] = open_run(
                self.metadata_reader(),
                invocation.cuts,
                model=model,
                target=self.table_name(this),
                policy=policy_of(config, model),
                invocation_id=invocation.invocation_id,
                full_refresh=full_refresh,
                parents=parents.keys(),
                window=self._event_window() if config.get("event_time") else None,
                event_times={table: plain_name(column) for table, column in parents.items() if column is not None},
                reads=reads_of(node, nodes, self._project_macros()),
            )
        return run

    def _project_macros(self) -> Macros:
        """The macros of the project and its packages by name, without those of dbt and its adapters."""
        found: dict[str, list[str]] = {}
        resolver = self.get_macro_resolver()
        for macro in getattr(resolver, "macros", {}).values():  # dbt-core's is its manifest
            if macro.package_name not in _OWN_PACKAGES:
                for name in {macro.name, macro.name.rpartition("__")[2]}:  # default__f is what dispatch('f') finds
                    found.setdefault(name, []).append(macro.macro_sql)
        return found

    def _event_window(self) -> EventWindow | None:
        """The window of ``--event-time-start`` and ``--event-time-end``; None without these options."""
        options = getattr(self.config, "args", None)
        start, end = (getattr(options, name, None) for name in ("EVENT_TIME_START", "EVENT_TIME_END"))
        return None if start is None or end is None else EventWindow(start, end)

    def _current(self) -> Invocation:
        """The state of this invocation; begun anew when dbt is called again in the same process."""
        invocation_id = get_invocation_id()
        with self._invocation_lock:
            if self._invocation is None or self._invocation.invocation_id != invocation_id:
                self._invocation = Invocation(invocation_id, Cuts(self.metadata_reader))
            return self._invocation

    def _publisher(self) -> Publisher:
        return Publisher(
            lambda sql: self.execute(sql, auto_begin=False, fetch=False),
            self.metadata_reader(),
            self.session_configure(),
        )


def _column_names(macro: str, value: object, model: str) -> list[str]:
    """The columns that a macro was given, by their plain names. Raises ConfigError for anything else."""
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise model_errors.not_columns(macro, value, model)
    return [plain_name(name) for name in names]


def _names_table(sql: str, table: TableName) -> bool:
    """Whether a SQL text names a table, with or without quotes and catalog."""
    return f"{table.namespace}.{table.name}".lower() in sql.replace("`", "").lower()


def _one_column(macro: str, value: object, model: str) -> str:
    if not isinstance(value, str):
        raise model_errors.not_columns(macro, value, model)
    return plain_name(value)


def _listed_types(types: Mapping[str, Sequence[str]], names: Sequence[str]) -> list[tuple[str, str, str]]:
    """(table, column, type) of each column of each table."""
    return [(table, *each) for table, found in types.items() for each in zip(names, found, strict=True)]


def _relations(macro: str, value: object, *, several: bool) -> Sequence[BaseRelation]:
    """The relations that a macro was given: one, or where it takes ``several`` a list. Raises ConfigError otherwise."""
    relations = value if several and isinstance(value, (list, tuple)) and value else [value]
    for relation in relations:
        if not isinstance(relation, BaseRelation):
            raise model_errors.not_a_relation(macro, relation)
    return relations


def _as_given(macro: str, relation: object) -> object:
    """What a macro gives for a relation that is not captured."""
    if macro == "ip_range":
        return EMPTY
    return expose.inserted_sql(str(relation)) if macro == "ip_changelog" else relation
