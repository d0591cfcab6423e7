"""The result of a ``dbt build``: the nodes that it built, and the failing nodes. Pure functions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

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
