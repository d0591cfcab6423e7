"""Checks for SQL whose result is correct in a first build, but wrong in later runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from dbt.adapters.events.logging import AdapterLogger

from iceberg_incremental.capture.run_plan import Read, RunPlan
from iceberg_incremental.explain import wording
from iceberg_incremental.plan.policy import OnAggregates, Strategy
from iceberg_incremental.plan.ranges import CHANGE_TYPE

from ..project import project_errors
from ..project.captured import SIGNED, Captured
from ..project.conditional_reads import Macros
from ..project.graph import Node
from ..project.jinja_names import same_in_every_run
from ..project.own_table import reads_itself

logger = AdapterLogger("SparkIceberg")


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
    if use.joined:
        logger.warning(wording.joins_changes(plan.model, list(map(str, use.joined))))
    if use.limited:
        logger.warning(wording.limits_changes(plan.model, list(map(str, use.limited))))
    if use.filters_type and policy.strategy is Strategy.APPLY_CHANGES:
        logger.warning(wording.keeps_deleted(plan.model))
    if use.watermark:
        logger.warning(wording.skips_below_maximum(plan.model))
    if use.unsigned:
        raise project_errors.ignored_sign(plan.model, use.unsigned)
    if use.totals and not (may_total or use.reads_own_table):
        raise project_errors.aggregated_changes(plan.model, policy, use.totals)


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
        return wording.merges_whole_tables(plan.model)
    only_new = captured == plan.read_as(Read.CHANGES).keys() and plan.policy.on_aggregates is OnAggregates.FAIL
    if strategy is Strategy.INSERT_OVERWRITE and only_new and not plan.read_as(Read.AS_OF):
        return wording.overwrites_by_new_rows(plan.model)
    return None


def takes_changes_for_rows(sql: str, strategy: Strategy) -> bool:
    """Whether a model's SQL reads a changelog without using its change type."""
    if strategy.takes_changelog or "ip_changelog" not in sql:
        return False
    return "_change_type" not in sql.lower() and "*" not in sql
