"""``dbt build`` in this process, so that Spark continues to run between builds."""

from __future__ import annotations

import sys
from collections.abc import Collection
from itertools import chain

from . import watch_errors
from .due import Reach
from .outcome import Outcome, outcome_of
from .project import Project


def build(project: Project, reach: Reach, passed: Collection[str] = ()) -> Outcome:
    """Build the due nodes with their data tests, in the order of dbt's graph.

    The nodes that they read are tested first, except those that have ``passed`` their tests. Tests that read a waiting
    node are omitted, as in ``dbt build``. Unit tests are omitted, because they test a model's SQL and not its rows.
    Raises IncrementalError if this process's Spark has ended.
    """
    from dbt.cli.main import dbtRunner

    options = project.options
    before = project.tests_before(reach, passed)
    excluded = project.excluded(reach)
    found = dbtRunner(project.parsed()).invoke(
        [
            *("build", *options.common, *options.build),
            *("--exclude-resource-type", "unit_test"),
            *("--select", *project.selector({*reach.nodes, *before})),
            *(("--exclude", *excluded) if excluded else ()),
        ]
    )
    if (code := _spark_has_ended()) is not None:
        raise watch_errors.spark_has_ended(code)
    results = getattr(found.result, "results", None)
    if results is None:
        return Outcome(stopped=str(found.exception or "dbt returned no results").strip())
    wanted = {*reach.nodes, *chain.from_iterable(before.values())}
    return outcome_of(results, wanted, project.half_judged(reach))


def _spark_has_ended() -> int | None:
    """The exit code of this process's Spark. None while Spark is running, or if it was not started."""
    if "pyspark.core.context" not in sys.modules:
        return None
    from pyspark import SparkContext

    process = getattr(getattr(SparkContext, "_gateway", None), "proc", None)
    return None if process is None else process.poll()
