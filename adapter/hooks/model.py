"""Methods that are called before a model is written, with warnings about its SQL: ``adapter.ip.model``."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from dbt.adapters.base import BaseRelation
from dbt.adapters.events.logging import AdapterLogger

from iceberg_incremental.capture.run_plan import Action, Read, RunPlan
from iceberg_incremental.explain import auto_errors, model_errors, target_errors, window_errors, wording
from iceberg_incremental.plan.policy import OnAggregates, OnSqlChange, Strategy
from iceberg_incremental.plan.ranges import CHANGE_TYPE
from iceberg_incremental.publish.source_holds import SourceHolds
from iceberg_incremental.table.retention import FEW_METADATA_FILES, older_metadata_files

from ..project import layout_config, project_errors
from ..project.captured import SIGNED, Captured, Use
from ..project.graph import Node
from ..project.jinja import Macros, same_in_every_run
from ..project.own_table import reads_itself
from .invocation import Namespace
from .macros import READS

logger = AdapterLogger("SparkIceberg")


class ModelHooks(Namespace):
    """The checks of a model of this package before its first statement, and its held positions in sources."""

    def begin(self, node: Node) -> str:
        """The action of a compiled model's run. Logs the captured ranges.

        Raises ConfigError for a model whose SQL captures nothing.
        """
        found = self._invocations.if_opened(node)
        if found is None or not (found.run.plan.captured or found.run.plan.passes_through):
            self._invocations.policy(node)
            if node.get("language") == "python":
                raise project_errors.no_capture_in_python(node["unique_id"], list(READS))
            only_incremental = found is not None and found.run.plan.reads.has_incremental_calls
            is_plain = found is not None and found.plain is not None
            raise model_errors.no_capture(
                node["unique_id"], list(READS), only_incremental=only_incremental, is_plain=is_plain
            )
        plan = found.run.plan
        left_out = plan.reads.only_incremental - plan.captured.keys()
        if plan.is_rebuild and not plan.passes_through and left_out:
            raise model_errors.captured_later(plan.model, left_out)
        if plan.window is not None and reads_itself(node, plan.name):
            raise window_errors.window_of_itself(plan.model)
        require_lasting_results(plan, node, found.given, self._invocations.jinja_scope().macros)
        _log(plan, node)
        if not plan.is_rebuild and not plan.passes_through and plan.target is not None:
            config = node["config"]  # a clustered table is partitioned by buckets too
            partition_by = None if config.get("clustered_by") else config.get("partition_by")
            fields = layout_config.partition_fields(partition_by, plan.model)
            properties, sort_by = self._adapter.tables.properties(config), config.get("sort_by")
            kept = target_errors.keeps_layout(
                plan.target,
                plan.model,
                fields,
                layout_config.sort_fields(sort_by, plan.model),
                properties,
                keeps_history=plan.policy.history is not None,
            )
            if kept is not None:
                logger.warning(kept)
        checks_only = plan.action is Action.ADVANCE and plan.has_new_logic  # it also moves the checkpoint
        return (Action.CHECK_ONLY if checks_only else plan.action).value

    def require_replaceable(self, node: Node, existing: BaseRelation | None, full_refresh: bool) -> None:
        """Raise CheckpointError if a model would replace a table that is not an Iceberg table.

        ``full_refresh``: whether the run has ``--full-refresh``, which permits this.
        """
        plan = self._plan(node)
        if plan.target is not None or full_refresh or existing is None or existing.is_view:
            return
        provider = self._adapter.lookup.provider(existing)
        if provider is not None and not plan.policy.replaces_unknown_tables:
            raise target_errors.not_built_by(plan.name, plan.model, provider)

    def is_plain(self, node: Node) -> bool:
        """Whether a model has the strategy ``auto``. Raises ConfigError for a Python model."""
        if self._invocations.policy(node).strategy is not Strategy.AUTO:
            return False
        if node.get("language") == "python":
            raise auto_errors.auto_in_python(node["unique_id"])
        return True

    def is_keyed(self, node: Node) -> bool:
        """Whether the unique_key identifies the rows of a model's table."""
        return self._plan(node).policy.strategy.is_keyed

    def has_sequence(self, node: Node) -> bool:
        """Whether a model has ``sequence_by``."""
        return bool(self._plan(node).policy.sequence_by)

    def takes_changelog(self, node: Node) -> bool:
        """Whether a model's SQL returns a changelog instead of rows of its table."""
        return self._plan(node).policy.strategy.takes_changelog

    def table_properties(self, node: Node) -> Mapping[str, str]:
        """The properties of a new table of a model, in addition to those of its config."""
        given = self._adapter.tables.properties(node["config"])
        policy = self._invocations.policy(node)
        return {key: value for key, value in policy.strategy.table_defaults.items() if key not in given}

    def staged(self, node: Node, target: BaseRelation) -> BaseRelation:
        """The branch of a model's table on which its run stages rows, which are published later."""
        found: BaseRelation = target.replace(branch=self._plan(node).branch)
        return found

    def hold(self, node: Node) -> None:
        """Hold the positions from which a run continues and up to which it reads, before it builds."""
        self._holds(node).hold()

    def release(self, node: Node) -> None:
        """Hold the positions of a model after its run, and release the earlier ones."""
        self._holds(node).release()

    def _holds(self, node: Node) -> SourceHolds:
        run = self._invocations.opened(node).run
        return SourceHolds(run, self._adapter.spark, self._adapter.metadata_reader())


def _log(plan: RunPlan, node: Node) -> None:
    """Log the captured ranges of a run, and warnings."""
    if (doubt := doubtful_result(plan, node)) is not None:
        logger.warning(doubt)
    if takes_changes_for_rows(str(node.get("raw_code")), plan.policy.strategy):
        logger.warning(
            f"{plan.model} reads ip_changelog(), but its SQL does not use _change_type. Deleted rows and the old "
            "versions of updated rows count as rows. To mirror the source, return _change_type and set "
            "incremental_strategy: apply_changes. Otherwise, filter by _change_type."
        )
    kept = older_metadata_files({} if plan.target is None else plan.target.properties)
    if kept < FEW_METADATA_FILES and not plan.passes_through:
        logger.warning(target_errors.keeps_few_metadata_files(plan.name, plan.model, kept))
    if plan.captured and plan.action is not Action.NOTHING:  # dbt prints NOTHING NEW
        logger.info(wording.captured(plan.captured.values(), plan.readings))
    if plan.is_rebuild:
        (logger.info if plan.by_policy else logger.debug)(f"{plan.model} is built as a whole: {plan.reason}")
    change = plan.logic_change
    if change is not None and plan.policy.on_sql_change is OnSqlChange.WARN:
        logger.warning(
            model_errors.logic_changed_warning(plan.model, change.after, change.differences, is_new=change.is_new)
        )


def require_lasting_results(
    plan: RunPlan, node: Node, given: Mapping[str, Collection[Captured]], macros: Macros
) -> None:
    """Raise ConfigError if a model's compiled SQL loses or duplicates rows in later runs.

    A first build is checked if later runs have the same SQL. ``given``: the captures of the macros, by the text that
    they add to the SQL. ``macros``: the project's macros. Python code, and SQL that sqlglot cannot parse, is not
    checked.
    """
    policy = plan.policy
    may_total = policy.strategy is Strategy.APPEND or policy.on_aggregates is OnAggregates.ALLOW
    captures = {each for captured in given.values() for each in captured}
    is_judged = any(each.macro == SIGNED or (each.is_changes and not may_total) for each in captures)
    is_judged = is_judged or len({each.table for each in captures if each.is_changes}) > 1
    compiled = str(node.get("compiled_code")).lower()
    is_judged = is_judged or "limit" in compiled or ("max(" in compiled and reads_itself(node, plan.name))
    is_judged = is_judged or (policy.strategy is Strategy.APPLY_CHANGES and CHANGE_TYPE in compiled)
    if not is_judged or node.get("language") == "python":
        return
    if plan.is_rebuild and not same_in_every_run(str(node.get("raw_code")), macros):
        return
    from ..project.captured_rows import use_of  # importing sqlglot takes a tenth of a second

    use = use_of(str(node.get("compiled_code")), given, plan.name)
    if use is None:
        logger.debug(f"sqlglot cannot parse the SQL of {plan.model}, so it is not checked for aggregates of changes")
        return
    for doubt in _doubtful_uses(plan.model, use, policy.strategy):
        logger.warning(doubt)
    if use.unsigned:
        raise project_errors.ignored_sign(plan.model, use.unsigned)
    if use.totals and not (may_total or use.reads_own_table):
        raise project_errors.aggregated_changes(plan.model, policy, use.totals)


def _doubtful_uses(model: str, use: Use, strategy: Strategy) -> Iterator[str]:
    """The warnings for SQL that reads only some of the captured changes, or only in some cases all of them."""
    if use.joined:
        yield (
            f"{model} joins {' with '.join(map(str, use.joined))}. A row and its partner must arrive in the same run: "
            "if one of them arrives later, no run finds both. To join new rows with all rows of the other table, read "
            "it with ip_as_of(). To follow changes of both tables, use ip_changed_groups() with changes_of, or "
            "incremental_strategy: auto."
        )
    if use.limited:
        yield (
            f"{model} has a LIMIT on the rows of {' and '.join(map(str, use.limited))}. No later run reads the other "
            "rows. To read fewer rows in each run, set max_snapshots_per_run or max_bytes_per_run."
        )
    if use.filters_type and strategy is Strategy.APPLY_CHANGES:
        yield (
            f"{model} filters its changelog by _change_type, so that deleted rows remain in its table. apply_changes "
            "needs all changes: remove this condition. To keep deleted rows on purpose, use ip_changes() with "
            "incremental_strategy: merge and on_source_rewrite: upserts."
        )
    if use.watermark:
        yield (
            f"{model} reads only those of the captured changes that are above a maximum in its own table. Rows that "
            "arrive late, with a lower value, are never read. Each run already reads only new rows: remove this "
            "condition."
        )


def doubtful_result(plan: RunPlan, node: Node) -> str | None:
    """The warning for a model that appends or merges whole tables in each run, or replaces partitions with new rows.

    None if none applies. Each is correct in some models, which metadata cannot distinguish.
    """
    if plan.passes_through or reads_itself(node, plan.name):
        return None
    strategy, captured = plan.policy.strategy, plan.captured.keys()
    if strategy is Strategy.APPEND and plan.reads_whole_tables:
        return wording.appends_whole_tables(plan.model)
    if strategy is Strategy.MERGE and plan.reads_whole_tables:
        return (
            f"{plan.model} reads its sources only with ip_as_of(), and incremental_strategy is merge. Rows that are "
            "deleted in the sources remain in its table. To follow deletions, use incremental_strategy: auto without "
            "macros, or materialized: table."
        )
    only_new = captured == plan.read_as(Read.CHANGES).keys() and plan.policy.on_aggregates is OnAggregates.FAIL
    if strategy is Strategy.INSERT_OVERWRITE and only_new and not plan.read_as(Read.AS_OF):
        return (
            f"{plan.model} reads its sources only with ip_changes(), and incremental_strategy is insert_overwrite. A "
            "partition with new rows loses its existing rows. To keep them, use append or merge, or read whole "
            "partitions with ip_range() and ip_as_of(). If each partition arrives in one run, set "
            "aggregates_of_changes: allow."
        )
    return None


def takes_changes_for_rows(sql: str, strategy: Strategy) -> bool:
    """Whether a model's SQL reads a changelog without using its change type."""
    if strategy.takes_changelog or "ip_changelog" not in sql:
        return False
    return "_change_type" not in sql.lower() and "*" not in sql
