"""SQL whose result would be right in a first build, and wrong from the second run on, is refused in each run."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from dbt.adapters.events.logging import AdapterLogger

from iceberg_incremental.capture.run import ModelRun
from iceberg_incremental.explain import wording
from iceberg_incremental.plan.policy import OnAggregates, Strategy

from ..project import result_errors
from ..project.captured import SIGNED, Captured
from ..project.conditional_reads import Macros
from ..project.every_run import same_in_every_run
from ..project.own_table import reads_itself
from .context import Node

logger = AdapterLogger("SparkIceberg")


def require_lasting_results(
    run: ModelRun, node: Node, given: Mapping[str, Collection[Captured]], macros: Macros
) -> None:
    """Raise ConfigError where a model's compiled SQL loses or doubles rows in later runs.

    A first build is judged where later runs have the same SQL. ``given``: what the macros stand for, by the text that
    they have put into the SQL. ``macros``: the project's own. Code in Python, and SQL
    that sqlglot cannot parse, is not judged.
    """
    policy = run.policy
    may_total = policy.strategy is Strategy.APPEND or policy.on_aggregates is OnAggregates.ALLOW
    captures = {each for captured in given.values() for each in captured}
    is_judged = any(each.macro == SIGNED or (each.is_changes and not may_total) for each in captures)
    if not is_judged or node.get("language") == "python":
        return
    if run.is_rebuild and not same_in_every_run(str(node.get("raw_code")), macros):
        return
    from ..project.captured_rows import use_of  # sqlglot takes a tenth of a second to import

    use = use_of(str(node.get("compiled_code")), given, run.name)
    if use is None:
        logger.debug(f"sqlglot cannot parse the SQL of {run.model}: it is not checked for aggregates of changes")
        return
    if use.unsigned:
        raise result_errors.ignored_sign(run.model, use.unsigned)
    if use.totals and not (may_total or use.reads_own_table):
        raise result_errors.aggregated_changes(run.model, policy, use.totals)


def doubtful_result(run: ModelRun, node: Node) -> str | None:
    """The warning of a model that writes whole tables again, or new rows over old ones; None where neither is likely.

    Both are right in some models, which no metadata tells apart.
    """
    if run.passes_through or reads_itself(node, run.name):
        return None
    strategy, captured = run.policy.strategy, run.captured.keys()
    only_whole = captured == run.only_pinned and not any(map(run.reads.include, captured))
    if strategy is Strategy.APPEND and only_whole:
        return wording.appends_whole_tables(run.model)
    only_new = captured == run.ranges.keys() and run.policy.on_aggregates is OnAggregates.FAIL
    if strategy is Strategy.INSERT_OVERWRITE and only_new and not run.pinned:
        return wording.overwrites_by_new_rows(run.model)
    return None
