"""The output that pages show, created by the functions that print it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from unittest.mock import patch

from click.testing import CliRunner
from dbt.events.types import LogStartLine

from dbt.adapters.spark_iceberg.progress.display import Running
from dbt.adapters.spark_iceberg.progress.display import line as progress
from dbt.adapters.spark_iceberg.progress.work import Work
from dbt.adapters.spark_iceberg.watch import command_line, loop
from dbt.adapters.spark_iceberg.watch.due import Dag
from dbt.adapters.spark_iceberg.watch.pending import Pending
from dbt.adapters.spark_iceberg.watch.pending import as_text as pending
from dbt.adapters.spark_iceberg.watch.project import terms
from iceberg_incremental.explain import wording
from iceberg_incremental.explain.auto_errors import not_incremental
from iceberg_incremental.expose.parts import Reading
from iceberg_incremental.plan.ranges import Appends, Counts, NetChanges, NetRange, Nothing, Range
from iceberg_incremental.plan.rebuild_cost import Choice, Reads, choose, rebuild_at_once
from iceberg_incremental.query.text.refusal import Refusal
from iceberg_incremental.table.checkpoint import Position
from iceberg_incremental.table.history import Snapshot, TableName
from iceberg_incremental.write.auto.update_plan import UpdatePlan, log_line
from tests.unit.adapter.watch.statuses import up_to_date
from tests.unit.adapter.watch.test_loop import World

from . import outputs_of_operations as operations
from .outputs_of_operations import DAY_MS, JANUARY_MS, OPS

_RAW = {name: TableName("lakehouse", "raw", name) for name in ("orders", "customers")}
_LOGGED = "SparkIceberg adapter: "
_TUTORIAL = Reads(32, (3_100, 100), searched=200, scans=(0, 0))


def _lines(*lines: str) -> str:
    return "\n".join(lines)


def _snapshot(snapshot_id: int, sequence_number: int | None = None) -> Snapshot:
    return Snapshot(snapshot_id, None, sequence_number, JANUARY_MS + 4 * DAY_MS, "append", {})


def _start(snapshot_id: int, sequence_number: int | None = None) -> Position:
    return Position(None, snapshot_id, sequence_number, JANUARY_MS + 4 * DAY_MS)


def _appended(table: TableName, start: int, end: int, counts: Counts) -> Range:
    return Appends(
        table=table,
        table_uuid=None,
        start=_start(start),
        end=_snapshot(end),
        counts=counts,
        append_scan=True,
        additions=(),
        brought_by=(end,),
    )


def _changed(table: TableName, start: int, end: int, counts: Counts) -> Range:
    net = NetRange(table, start, end, changed=None)  # type: ignore[arg-type]
    return NetChanges(table=table, table_uuid=None, start=_start(start), end=_snapshot(end), counts=counts, net=net)


def _unchanged(table: TableName) -> Range:
    return Nothing(table=table, table_uuid=None, start=_start(1), end=_snapshot(1))


def _captured(*ranges: Range, reading: str | None = None) -> str:
    return wording.captured(ranges, {} if reading is None else {ranges[0].table: reading})


_INSERTED = _captured(
    _unchanged(_RAW["customers"]), _appended(_RAW["orders"], 723_000, 429_000, Counts(1, 2, 100, 3_072))
)
_UPDATED = _captured(
    _changed(_RAW["customers"], 750_000, 450_000, Counts(1, 2, 100, 1_638, at_most=True)), _unchanged(_RAW["orders"])
)


def _way(choice: Choice | None) -> str:
    assert choice is not None
    plan = UpdatePlan(choice)
    return log_line("model.shop.sales", plan, plan.way)


_REPLACED_ALL = _way(rebuild_at_once(replace(_TUTORIAL, searched=0)))
_REPLACED = _way(Choice(False, choose(_TUTORIAL, 8).reason))


def _progress() -> str:
    running = [Running("daily_delays", 47, Work(2, 3, 145, 200, 12_400_000, 325_268_275)), Running("airlines", 3)]
    begun = LogStartLine(description="sql incremental model analytics.daily_delays", index=1, total=9)
    return _lines(begun.message(), progress(running, 200))


def _watched() -> str:
    """The output of `watch` up to the end of its first build, with simulated tables and a simulated dbt."""
    built = "model.shop.flights_staged"
    nodes = [built, *(f"model.shop.{name}" for name in ("daily_delays", "carriers", "late"))]
    world = World(dag=Dag({built: ["flights"], **{name: [built] for name in nodes[1:]}}, nodes))
    world.statuses = {name: up_to_date(name) for name in nodes[:3]}
    world.commit(built)
    version = world.version()
    version.watched.models = nodes[:3]
    with (
        patch.object(command_line, "_version", lambda *_: version),
        patch.object(loop.Loop, "run", lambda self: None),
    ):
        log = CliRunner().invoke(command_line.cli, ["watch", "--profiles-dir", "."]).output
    world.step()
    messages = [json.loads(line)["info"]["msg"] for line in world.log.getvalue().splitlines()]
    what = "sql iceberg_incremental_snapshot model analytics.flights_staged"
    return _lines(
        log.splitlines()[0], messages[0], LogStartLine(description=what, index=1, total=4).message(), messages[1]
    )


def _due() -> str:
    nodes = {f"model.shop.{name}": {"fqn": ["shop", name]} for name in ("daily_delays", "flights_staged", "carriers")}
    return pending(Pending(terms(nodes, [*nodes][:2]), (), (), (), {}))


_LATE_ROWS = _appended(OPS, 884_000, 123_000, Counts(3, 12, 43_211, 8_493_466))
_CUSTOMERS = _changed(
    TableName("lake", "ops", "customers"), 884_000, 123_000, Counts(1, 12, 900, 1_258_291, at_most=True)
)


def _sampled() -> Refusal:
    return operations.refused(3, operations.RANDOM)


OUTPUTS: Mapping[tuple[str, str], Callable[[], str]] = {
    ("patterns.md", "captured"): lambda: _captured(_CUSTOMERS, reading=Reading.EXACT_FILES.value),
    ("clones.md", "model.shop.orders"): operations.clone,
    ("operations.md", "02:14:31"): _progress,
    ("operations.md", "model.shop.flights_staged"): operations.status,
    ("operations.md", "model.shop.spent"): operations.explained,
    ("operations.md", "lake.analytics.flights_staged"): operations.ledger,
    ("operations.md", "Skipped"): operations.skipped,
    ("operations.md", "Dry run"): operations.maintained,
    ("operations.md", "captured"): lambda: _captured(_LATE_ROWS),
    ("plain-sql.md", "model.shop.sampled"): lambda: str(
        not_incremental("model.shop.sampled", str(_sampled()), _sampled().instead)
    ),
    ("history.md", "SparkIceberg"): lambda: _LOGGED + wording.keys_compared("snapshot.shop.customers_history", 25_000),
    ("tutorial.md", "captured lakehouse.raw.customers: nothing new"): lambda: _lines(_INSERTED, _REPLACED_ALL),
    ("tutorial.md", "captured lakehouse.raw.customers: 1 snapshot"): lambda: _lines(_UPDATED, _REPLACED),
    ("verify.md", "model.shop.orders_by_day"): operations.verified,
    ("watch.md", "12:02:41"): _watched,
    ("watch.md", "shop.daily_delays"): _due,
}
"""Functions that return the text of a block. The keys are the page and the first characters of the block."""
