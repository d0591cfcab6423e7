"""``dbt build`` in this process, so that Spark continues to run between builds, and its outcome."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from . import watch_errors
from .due import Reach
from .project import Project

_TESTS = ("test", "unit_test")
_FAILED = ("error", "fail", "runtime error", "partial success")
_DONE = ("success", "pass", "warn", "no-op", "reused")


@dataclass(frozen=True)
class Outcome:
    """The result of a build. ``done``: the nodes that were built without a failure. ``failed``: the errors, by node.

    ``passed``: the nodes that were built or tested, and whose tests have all run and passed. ``stopped``: why the
    command ended early; None if it completed. ``epochs``: the epochs of the tables after the runs of their models.
    """

    done: frozenset[str] = frozenset()
    failed: Mapping[str, str] = field(default_factory=dict)
    stopped: str | None = None
    passed: frozenset[str] = frozenset()
    epochs: Mapping[str, int] = field(default_factory=dict)


def outcome_of(results: Iterable[Any], wanted: Collection[str], half_judged: Collection[str] = ()) -> Outcome:
    """Return the outcome of dbt's node results.

    ``wanted``: the nodes to build or test. ``half_judged``: nodes for which some tests were omitted. A failing test
    counts as a failure of the nodes that it reads, because dbt skips their downstream nodes.
    """
    done: set[str] = set()
    judged: set[str] = set()
    failed: dict[str, str] = {}
    epochs: dict[str, int] = {}
    for result in results:
        status, node = str(result.status), result.node
        if status in _FAILED:
            message = _message(result)
            for name in _held_by(node, wanted):
                failed[name] = f"{failed[name]}\n{message}" if name in failed else message
        elif status in _DONE and node.resource_type in _TESTS:
            judged.update(_held_by(node, wanted))
        elif status in _DONE and node.unique_id in wanted:
            done.add(node.unique_id)
            epoch = ((getattr(result, "adapter_response", None) or {}).get("ip") or {}).get("epoch")
            epochs |= {} if epoch is None else {node.unique_id: int(epoch)}
    passed = frozenset((done | judged) - failed.keys() - {*half_judged})
    return Outcome(frozenset(done - failed.keys()), failed, passed=passed, epochs=epochs)


def _held_by(node: Any, wanted: Collection[str]) -> list[str]:
    if node.resource_type not in _TESTS:
        return [node.unique_id]
    return [name for name in node.depends_on.nodes if name in wanted]


def _message(result: Any) -> str:
    text = str(result.message or result.status).strip()
    return f"{result.node.name}: {text}" if result.node.resource_type in _TESTS else text


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
