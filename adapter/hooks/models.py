"""A model of this package, from the first macro of its SQL to its commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.base.column import Column
from dbt.adapters.contracts.relation import RelationType

from iceberg_incremental.capture.lateness import lateness
from iceberg_incremental.capture.run import Action, ModelRun
from iceberg_incremental.errors import IncrementalError, SourceMissingError, StatementError
from iceberg_incremental.explain import logic_errors, model_errors, race_errors, target_errors, window_errors, wording
from iceberg_incremental.expose.value_range import PARSED, ValueRange
from iceberg_incremental.plan import session_settings as settings
from iceberg_incremental.plan.policy import OnSqlChange, Strategy
from iceberg_incremental.publish.fence import branch_of
from iceberg_incremental.publish.publisher import Published, Then
from iceberg_incremental.table.commits import added
from iceberg_incremental.table.history import History, Snapshot
from iceberg_incremental.table.retention import FEW_METADATA_FILES, older_metadata_files
from iceberg_incremental.write import changelog
from iceberg_incremental.write.changelog import Changes, Summary, repeated_sql, useful
from iceberg_incremental.write.replacement import (
    Inserted,
    Replacement,
    delete_sql,
    duplicates_of,
    inserted,
    paths_sql,
    strays_of,
    with_paths,
)
from iceberg_incremental.write.sequence import deletions_sql

from ..operations.arguments import ARGUMENTS
from ..project import python_errors
from ..project.captured import Captured
from ..project.model_config import policy_of
from ..project.own_table import reads_itself
from ..spark.as_dbt import hook
from . import report
from .arguments import relations_in
from .audits import AuditHooks
from .base import logger
from .captures import Arguments, Captures
from .changes import ChangesHooks, replacement_of
from .context import ModelContext, Node
from .reads import READS
from .report import IncrementalResponse
from .results import doubtful_result, require_lasting_results

_NOT_DETERMINISTIC = "INVALID_NON_DETERMINISTIC_EXPRESSIONS"
"""Spark's error of a statement that has it compute an expression twice, or where there is no row to compute it for."""


class ModelHooks(ChangesHooks, AuditHooks):
    """What the macros in a model's SQL and the materialization call."""

    @hook
    def ip_require_arguments(self, macro: str, positional: Sequence[object], named: Mapping[str, object]) -> None:
        """Raise ConfigError for arguments that a macro does not take: what it got beyond its own."""
        if positional or named:
            raise model_errors.unknown_arguments(macro, ARGUMENTS[macro], len(positional), list(named))

    @hook.parse(lambda self, macro, relation, *args: relation)
    def ip_read(self, macro: str, relation: object, arguments: Arguments, context: Mapping[str, Any]) -> object:
        """What a macro that reads a relation stands for in a model's SQL: text, or the relation as dbt gave it.

        ``arguments``: the further ones of the macro. ``context``: a ModelContext's values.
        Raises IncrementalError in all its kinds.
        """
        read, model = READS[macro], ModelContext(**context)
        relations = relations_in(macro, relation, several=read.several)
        if model.is_unit_test:
            return read.as_given(relation)
        for each in relations:
            if each.type == RelationType.CTE:
                raise model_errors.ephemeral(macro, str(each.identifier), model.unique_id)
        try:
            invocation = self.current_invocation()
            run = invocation.run_of(macro, model, self)
            captures = Captures(macro, run, invocation.cuts, self, shows_sql=model.only_shows_sql)
            if not model.partial:
                found = read.captured(captures, relations, arguments)
                if isinstance(found, str):
                    invocation.given.setdefault(run.model, {}).setdefault(found, set()).add(
                        Captured(macro, self.table_name(relations[0]))
                    )
                return found
            run.passes_through = True
            return read.as_given(relation) if read.sampled is None else read.sampled(captures, relations, arguments)
        except SourceMissingError:
            if not model.only_shows_sql:
                raise
        except IncrementalError as error:
            if not model.only_documents:
                raise
            logger.warning(f"{model.unique_id} is documented without its captured range. {error}")
        return read.as_given(relation)

    @hook
    def ip_range_while_parsing(self) -> ValueRange:
        """What ``ip_range`` gives while dbt parses, when nothing is captured."""
        return PARSED

    @hook.parse(lambda *args: False)
    def ip_is_incremental(self, context: Mapping[str, Any]) -> bool:
        """Whether a model of this materialization continues its table, so that ``is_incremental()`` is true."""
        model = ModelContext(**context)
        return not self.current_invocation().run_of("is_incremental", model, self).is_rebuild

    @hook.parse_none
    def ip_begin(self, node: Node) -> str:
        """The action that the materialization shall take for a model, after it was compiled. Logs what was captured.

        Raises ConfigError for a model whose SQL captures nothing.
        """
        run = self.run_if_opened(node)
        if run is None or not (run.captured or run.passes_through):
            policy_of(node["config"], node["unique_id"])
            if node.get("language") == "python":
                raise python_errors.no_capture_in_python(node["unique_id"])
            only_incremental = run is not None and run.reads.has_incremental_calls
            raise model_errors.no_capture(node["unique_id"], only_incremental=only_incremental)
        left_out = run.reads.only_incremental - run.captured.keys()
        if run.is_rebuild and not run.passes_through and left_out:
            raise model_errors.captured_later(run.model, left_out)
        if run.window is not None and reads_itself(node, run.name):
            raise window_errors.window_of_itself(run.model)
        given = self.current_invocation().given.get(run.model, {})
        require_lasting_results(run, node, given, self.jinja_scope().macros)
        _log(run, node)
        change = run.logic_change
        writes_nothing = run.action in (Action.NOTHING, Action.ADVANCE)
        return (Action.CHECK_ONLY if writes_nothing and change is not None and change.is_new else run.action).value

    @hook.parse_none
    def ip_require_replaceable(self, node: Node, existing: BaseRelation | None, full_refresh: bool) -> None:
        """Refuse to build a model in the place of a table that is not Iceberg's, unless that is asked for.

        Raises CheckpointError.
        """
        run = self.opened_run(node)
        if run.target is not None or full_refresh or existing is None or existing.is_view:
            return
        provider = self.provider(existing)
        if provider is not None and not run.policy.replaces_unknown_tables:
            raise target_errors.not_built_by(run.name, run.model, provider)

    @hook.parse(lambda *args: False)
    def ip_is_keyed(self, node: Node) -> bool:
        """Whether the unique_key identifies the rows of a model's table."""
        return self.opened_run(node).policy.strategy.is_keyed

    @hook.parse(lambda *args: False)
    def ip_takes_changelog(self, node: Node) -> bool:
        """Whether a model's SQL gives a changelog, and not rows of its table."""
        return self.opened_run(node).policy.strategy is Strategy.APPLY_CHANGES

    @hook
    def ip_table_properties(self, node: Node) -> Mapping[str, str]:
        """The properties that a model's table is made with, beside those of its config."""
        given = self.table_properties(node["config"])
        policy = policy_of(node["config"], node["unique_id"])
        return {key: value for key, value in policy.strategy.table_defaults.items() if key not in given}

    @hook.parse_none
    def ip_staged(self, node: Node, target: BaseRelation) -> BaseRelation:
        """The branch of a model's table that its run writes to; what is written there is published afterwards."""
        return target.replace(branch=branch_of(self.opened_run(node)))

    def _response(self, run: ModelRun, published: Published | None) -> IncrementalResponse:
        """What a run reports that has ended, with the lateness of the rows that it applied."""
        run.published = None if published is None else published.snapshot
        applied = published is not None and run.action is Action.APPLY
        return report.response(
            run,
            published,
            self.audits_of(run),
            lateness(run, self.current_invocation().cuts) if applied else {},
        )

    @hook.parse_none
    def ip_rebuild(self, node: Node, sql: str) -> IncrementalResponse:
        """Build the table as a whole by a CREATE OR REPLACE TABLE AS, with the checkpoint in its commit."""
        run = self.opened_run(node)
        if run.passes_through:
            self.publisher().build_partial(run, sql)
            return self._response(run, None)
        try:
            return self._response(run, self.publisher().rebuild(run, sql))
        finally:
            self.drop_beside(run)

    @hook.parse_none
    def ip_apply(
        self, node: Node, sql: str, replacing: Sequence[Column] | None = None, source: BaseRelation | None = None
    ) -> IncrementalResponse:
        """Apply the captured rows by a statement, with the checkpoint in the commit that publishes them.

        ``replacing``: the columns of the rows that it inserts, where the rows that they replace are to be deleted.
        ``source``: the new rows, of which under ``sequence_by`` it inserts those that ``ip_rows_to_write`` names.
        """
        run = self.opened_run(node)
        if run.policy.sequence_by and replacing is not None and source is not None:
            self.note_own_rows(run, node)
            return self._apply_newest(run, sql, replacing, source)
        then = None if replacing is None else self._deletion(run, replacing)
        needed = settings.needed_by(run.policy.strategy.value)
        try:
            return self._response(run, self.publisher().apply(run, sql, needed, then, partial(self._check, run)))
        except StatementError as error:
            if _NOT_DETERMINISTIC not in str(error):
                raise
            raise model_errors.not_deterministic(run.model, error.msg.splitlines()[0]) from error

    @hook.parse_none
    def ip_apply_changelog(
        self, node: Node, sql: str, columns: Sequence[Column], source: BaseRelation, is_kept: str
    ) -> IncrementalResponse:
        """Apply the changes of a changelog: ``sql`` inserts the rows that are kept, and what they replace is deleted.

        ``sql`` reads the view that ``ip_changes_view`` names. ``columns``: of the rows that it inserts. ``is_kept``:
        the expression that says which rows of the changelog are kept.
        """
        run = self.opened_run(node)
        self.note_own_rows(run, node)
        with self.changes_of(run, source, columns, is_kept) as changes:
            found = self.summary(changes)
            if found.most_kept > 1:
                keys = changes.replacement.unique_key
                repeated = wording.duplicates(self.spark.rows(repeated_sql(changes)))
                raise model_errors.duplicate_keys(run.model, keys, repeated)
            if run.policy.sequence_by and found.gone:
                ordered = self.ordered(run, columns)
                self.remember(run, ordered, deletions_sql(changes.view, ordered))

            def delete(target: History, commit: Snapshot) -> str:
                if added(commit)[1] != found.kept:
                    raise race_errors.rows_changed(run.model)
                self.require_compared(run, target, commit)
                bounds = useful(found.bounds, self.files_at(target, commit.parent_id))
                new = self._inserted(target, commit)
                return changelog.delete_sql(new, changes, replace(found, bounds=bounds), run.model)

            needed = settings.needed_by(run.policy.strategy.value)
            check = partial(self._check_same, run, changes, found)
            published = self.publisher().apply(run, sql, needed, delete, check)
            return self._response(run, replace(published, rows=found.kept + found.gone))

    @hook.parse_none
    def ip_finish(self, node: Node) -> IncrementalResponse:
        """End a run that writes no rows; moves the checkpoint if the sources have commits without rows."""
        run = self.opened_run(node)
        if run.action is not Action.ADVANCE:
            return self._response(run, None)
        self.refuse_settings(run.model)
        return self._response(run, self.publisher().advance(run))

    def _apply_newest(
        self, run: ModelRun, sql: str, columns: Sequence[Column], source: BaseRelation
    ) -> IncrementalResponse:
        """Apply the newest of the new rows, as far as they are not older than the table's."""
        self.can_hold(run, source)  # it must, under sequence_by
        deletion = self._deletion(run, columns)
        with self.changes_of(run, source, columns, "true") as changes:
            found = self.summary(changes)

            def delete(target: History, commit: Snapshot) -> str:
                self.require_compared(run, target, commit)
                return deletion(target, commit)

            needed = settings.needed_by(run.policy.strategy.value)
            check = partial(self._check_same, run, changes, found)
            published = self.publisher().apply(run, sql, needed, delete, check)
            return self._response(run, published)

    def _check(self, run: ModelRun) -> None:
        """Raise IncrementalError where the staged rows must not be published."""
        self.require_own_rows(run)
        self.audit_staged(run)

    def _check_same(self, run: ModelRun, changes: Changes, found: Summary) -> None:
        """The same of rows that are the newest, or those of a changelog."""
        self.require_same(run, changes, found)
        self.audit_staged(run)

    def _deletion(self, run: ModelRun, columns: Sequence[Column]) -> Then:
        """What gives the DELETE of the rows that those of a commit replace."""
        replacement = replacement_of(run, columns)

        def delete(target: History, commit: Snapshot) -> str:
            new = self._judged(target, commit)
            self._require_unique_keys(run, new, replacement)
            self._require_changed_groups(run, new)
            return delete_sql(new, replacement, self.spark.scans)

        return delete

    def _inserted(self, target: History, commit: Snapshot) -> Inserted:
        """A commit of the target that inserted rows, with its files if they are needed."""
        new = self._judged(target, commit)
        if new.by_sequence or (new.files is not None and new.files.files is not None):
            return new
        return with_paths(new, [str(path) for (path,) in self.spark.rows(paths_sql(new))])

    def _judged(self, target: History, commit: Snapshot) -> Inserted:
        reader = self.metadata_reader()
        files = reader.data_files(target, commit.snapshot_id, [commit.snapshot_id])
        return inserted(target, commit, files, lambda: reader.live_specs(target, commit.snapshot_id))

    def _require_unique_keys(self, run: ModelRun, new: Inserted, replacement: Replacement) -> None:
        """Raise DuplicateKeyError where more than one of the inserted rows has the same key."""
        rows = self.spark.rows(duplicates_of(new, replacement))
        if rows:
            raise model_errors.duplicate_keys(run.model, replacement.unique_key, wording.duplicates(rows))

    def _require_changed_groups(self, run: ModelRun, new: Inserted) -> None:
        """Raise ConfigError where an inserted row is of a group that did not change: not all of its rows were read."""
        if run.groups is None or not run.groups.changes:
            return
        rows = self.spark.rows(strays_of(new, run.groups, self.spark.scans))
        if rows:
            raise model_errors.unchanged_groups(run.model, run.groups.keys, wording.duplicates(rows))


def _log(run: ModelRun, node: Node) -> None:
    """Log what a run has captured, and what is doubtful about it."""
    if (doubt := doubtful_result(run, node)) is not None:
        logger.warning(doubt)
    if takes_changes_for_rows(str(node.get("raw_code")), run.policy.strategy):
        logger.warning(wording.changes_not_told_apart(run.model))
    kept = older_metadata_files({} if run.target is None else run.target.properties)
    if kept < FEW_METADATA_FILES and not run.passes_through:
        logger.warning(target_errors.keeps_few_metadata_files(run.name, run.model, kept))
    if run.captured:
        logger.info(wording.captured(run.captured.values(), run.readings))
    if run.is_rebuild:
        (logger.info if run.by_policy else logger.debug)(f"{run.model} is built as a whole: {run.reason}")
    change = run.logic_change
    if change is not None and run.policy.on_sql_change is OnSqlChange.WARN:
        logger.warning(
            logic_errors.logic_changed_warning(run.model, change.after, change.differences, is_new=change.is_new)
        )


def takes_changes_for_rows(sql: str, strategy: Strategy) -> bool:
    """Whether a model's SQL, as it is written, gives the rows of a changelog without saying what became of them."""
    if strategy is Strategy.APPLY_CHANGES or "ip_changelog" not in sql:
        return False
    return "_change_type" not in sql.lower() and "*" not in sql
