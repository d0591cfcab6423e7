"""Creates an example of each error.

The errors are created by functions in ``iceberg_incremental/explain`` and in the adapter's ``*_errors.py`` files.
``BY_NAME`` has their arguments by parameter name. ``BY_FUNCTION`` has arguments for single functions, which override
those in ``BY_NAME``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from datetime import datetime
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from dbt.adapters.spark_iceberg.hooks.macros import READS
from dbt.adapters.spark_iceberg.project.captured import Captured, Total
from dbt.adapters.spark_iceberg.project.data_tests import Audit, DataTest
from dbt.adapters.spark_iceberg.status.ledger import Finding, Line
from iceberg_incremental import explain
from iceberg_incremental.errors import IncrementalError, NotIcebergError
from iceberg_incremental.expose.value_range import ValueRange
from iceberg_incremental.plan.breaks import Break, Reason
from iceberg_incremental.plan.changes import Rewritten
from iceberg_incremental.plan.event_window import EventWindow
from iceberg_incremental.plan.groups import ChangedGroups
from iceberg_incremental.plan.policy import Cause, Policy, Strategy
from iceberg_incremental.plan.refusals import Incomparable, Unreadable
from iceberg_incremental.plan.session_settings import REFUSED
from iceberg_incremental.table.checkpoint import (
    Checkpoint,
    CheckpointFlaw,
    Deletions,
    Place,
    Position,
    UnreadableCheckpoint,
)
from iceberg_incremental.table.checkpoint_state import CheckpointState
from iceberg_incremental.table.history import History, Snapshot, TableName
from iceberg_incremental.table.layout import LiveSpec

ADAPTER = Path(__file__).parents[1] / "adapter"
MODEL = "model.shop.daily_delays"
TARGET = TableName("lake", "analytics", "daily_delays")
_CLONE = TableName("lake", "dev", "daily_delays")
FLIGHTS = TableName("lake", "ops", "flights")
WEATHER = TableName("lake", "ops", "weather")
_UUID = "9c12d441-03fe-4693-9a96-a0705ddf69c1"
_NEW_YEAR_MS = 1_767_225_600_000


def _snapshot(number: int, operation: str = "append") -> Snapshot:
    """The snapshot of a day in January 2026."""
    parent = None if number == 1 else _id(number - 1)
    return Snapshot(_id(number), parent, number, _NEW_YEAR_MS + number * 86_400_000, operation, {})


def _id(number: int) -> int:
    return 3_051_729_675_574_597_000 + number


def _history(table: TableName, length: int) -> History:
    snapshots = {_id(number): _snapshot(number) for number in range(1, length + 1)}
    return History(table, _UUID, 2, _id(length), snapshots, {"main": _id(length)}, {})


def _branched(history: History) -> History:
    """The history with a run's branch at the head of main."""
    return replace(history, refs={**history.refs, _BRANCH: _id(9)})


def _position(number: int) -> Position:
    return Position(_UUID, _id(number), number, _NEW_YEAR_MS + number * 86_400_000)


def _checkpoint(model: str = MODEL, epoch: int = 7) -> Checkpoint:
    return Checkpoint(model, epoch, "0d4c5f3e", {str(FLIGHTS): _position(4)}, _id(2))


_NESSIE = replace(_history(TARGET, 9), properties={"nessie.commit.ref": "main"})
_SOURCE = _history(FLIGHTS, 9)
_BREAK = Break(
    Cause.ROLLED_BACK, _SOURCE, _position(8), _SOURCE.current, Reason.UNDONE, ancestor=_snapshot(6), oldest=_snapshot(1)
)
_VIEW = "lake.ops.flights is a view; expected an Iceberg table."
_KEYS = ("carrier", "flight_day")
_ONE_KEY = '{"carrier":"UA","flight_day":"2026-01-05"}'

_ONE_ROW = f"{_ONE_KEY} (1 row)"

BY_NAME: dict[str, Any] = {
    "added": ("delay",),
    "absent": ("carrier",),
    "before": _position(4),
    "calls": ("dbt.ip_changes(dbt.source('ops', 'flights'))",),
    "captured_from": _checkpoint(),
    "catalog": "lake",
    "cause": "uuid() is not deterministic.",
    "chain": tuple(_snapshot(number) for number in range(9, 4, -1)),
    "checkpoint": _checkpoint(),
    "column": "arr_delay",
    "columns": ("_file",),
    "commit": _snapshot(9, "overwrite"),
    "configured": ("flight_day",),
    "deletions": Deletions("lake.analytics.daily_delays__ip_deleted", _id(3)),
    "epoch": 7,
    "event_time": "flight_day",
    "expected": "columns of lake.ops.flights: flight_id, carrier, flight_day, arr_delay",
    "found": f"{_ONE_KEY} (2 times)",
    "full_refresh": False,
    "history": _history(TARGET, 9),
    "is_part": False,
    "keys": _KEYS,
    "known": ("flight_id", "carrier", "flight_day", "arr_delay"),
    "line": 4,
    "macro": "ip_changes",
    "may_rebuild": True,
    "missing": ("arr_delay",),
    "model": MODEL,
    "name": "carrier_names",
    "names": ("delay", "Delay"),
    "now": _checkpoint(epoch=8),
    "on_schema_change": "ignore",
    "oldest": _snapshot(1),
    "policy": Policy(),
    "position": _position(4),
    "reason": "Spark's settings do not contain this catalog",
    "sequence": ("updated_at",),
    "snapshot_id": _id(4),
    "source": FLIGHTS,
    "table": FLIGHTS,
    "target": TARGET,
    "timestamp": "2025-12-01T00:00:00",
    "unknown": ("carier",),
    "unproven": None,
    "value": "flights",
    "wanted": ("updated_at",),
    "where": str(TARGET),
    "window": EventWindow(datetime.fromisoformat("2026-01-01"), datetime.fromisoformat("2026-01-08T12:00")),
    "wrong": ("on_source_rewrite is 'upsert': expected one of 'fail', 'upserts', 'ignore', 'full_refresh'",),
}

_JOB = "job.lake.analytics.daily_delays"
_BRANCH = "ip_8_4f0c3d2a91be"
_TEST = DataTest(
    unique_id="test.shop.not_null",
    model=MODEL,
    name="not_null_daily_delays_carrier",
    macro="test_not_null",
    package=None,
    arguments={},
    others=frozenset(),
)

BY_FUNCTION: dict[str, dict[str, Any]] = {
    "aggregated_changes": {
        "policy": Policy(Strategy.MERGE, _KEYS),
        "totals": (Total("count(*)", Captured("ip_changes", FLIGHTS)),),
    },
    "audit_failed": {"audits": (Audit(_TEST, failures=3),)},
    "audit_overtaken": {"table": TableName("lake", "analytics", "daily_delays__ip_audit")},
    "captured_later": {"sources": (FLIGHTS,)},
    "changed_meanwhile": {"head": _id(9)},
    "collated": {"columns": (("unique_key", "carrier", "string collate UTF8_LCASE"),)},
    "columns_missing": {"missing": ("arr_delay",), "added": ("arrival_delay",)},
    "columns_unknown": {"start": _id(4), "end": _id(9), "schemas": (0, None)},
    "commits_expired": {
        "broken": Break(
            Cause.EXPIRED, _SOURCE, _position(4), _SOURCE.current, Reason.COMMITS_EXPIRED, oldest=_snapshot(6)
        )
    },
    "compared_columns_missing": {"absent": (("unique_key", "carrier"),)},
    "compared_types_differ": {"differing": (("unique_key", "flight_number", "decimal(10,2)", "string"),)},
    "deletions_lost": {"found": "no such table"},
    "deletions_of_other_columns": {"others": (("carrier", "string", "int"),)},
    "deletions_overtaken": {"table": TableName("lake", "analytics", "daily_delays__ip_deleted")},
    "freshness_of_no_iceberg_table": {"error": NotIcebergError(_VIEW)},
    "groups_need_merge": {"keys": _KEYS},
    "half_published": {"found": _snapshot(8)},
    "history_break": {"broken": _BREAK},
    "ignored_sign": {"signed": (Captured("ip_signed_changes", FLIGHTS),)},
    "ids_repeated": {"column": "dbt_scd_id"},
    "incomparable": {"found": Incomparable(Unreadable.TYPES, (("shape", "geometry"),))},
    "key_taken": {"found": _ONE_KEY},
    "last_change_expired": {"known": _snapshot(3)},
    "ledger_broken": {
        "text": "…",
        "target": str(TARGET),
        "wrong": Line(7, str(FLIGHTS), "range", _id(5), _id(6), 1, 900, Finding.GAP),
        "broken": None,
    },
    "missing_checkpoint": {"state": CheckpointState(None, unproven=_checkpoint()), "keeps_metadata": 1},
    "proof_lost": {"keeps_metadata": 1},
    "epoch_of_several": {"models": ("daily_delays", "flights_staged")},
    "metrics_not_served": {"address": "127.0.0.1", "port": 9464, "cause": "[Errno 98] Address already in use"},
    "metrics_not_written": {"file": Path("/var/lib/node_exporter/watch.prom"), "cause": "No such file or directory"},
    "new_source": {"source": WEATHER},
    "not_incremental": {
        "construct": "rand(), whose value does not depend only on the sources' rows (line 4)",
        "instead": "compute it in a query that reads this model, or take it from a source",
    },
    "no_commit_order": {"columns": ("flight_id", "arr_delay")},
    "not_one_changelog": {"found": (str(FLIGHTS), str(WEATHER))},
    "not_a_log": {"found": (str(FLIGHTS), str(WEATHER))},
    "tied_events": {"found": f"{_ONE_KEY} (2 rows)"},
    "several_at_once": {"found": _ONE_KEY},
    "log_incomplete": {"table": TARGET, "found": f"snapshot {_id(4)} of {FLIGHTS} changed or deleted rows"},
    "own_columns": {"columns": ("dbt_valid_from",)},
    "not_from_a_log": {"table": TARGET},
    "would_drop_history": {"table": TARGET, "found": "materialized: table"},
    "other_history": {"table": TARGET, "differing": {"check_cols": ("all", "arr_delay")}},
    "not_a_history": {"table": TARGET, "missing": ("dbt_scd_id", "dbt_valid_from")},
    "audit_table_in_the_way": {"table": TableName("lake", "analytics", "daily_delays__ip_audit")},
    "several_valid": {"found": _ONE_KEY},
    "drops_columns": {"columns": ("arr_delay",)},
    "no_such_bound": {"name": "minimum", "known": tuple(each.name for each in fields(ValueRange))},
    "no_capture": {"macros": tuple(READS), "only_incremental": True},
    "no_capture_in_python": {"macros": tuple(READS)},
    "no_change_type": {"columns": ("flight_id", "carrier", "arr_delay")},
    "no_order": {"found": (("position", "struct<file: string, line: int>"),)},
    "null_in_sequence": {"found": _ONE_ROW},
    "null_in_sequence_of_table": {"found": _ONE_ROW},
    "no_range": {"column": "carrier_names", "kind": "array<string>"},
    "ends_unread_versions": {
        "model": "snapshot.shop.flights_history",
        "table": TableName("lake", "analytics", "flights_history"),
    },
    "no_iceberg_catalog": {"table": TableName("spark_catalog", "analytics", "daily_delays")},
    "older_format_version": {"table": TARGET, "found": "Cannot downgrade v3 table to v2"},
    "no_end": {"model": "snapshot.shop.flights_history", "config": "9999-12-31", "found": "a value of type int"},
    "no_time_of_deletion": {
        "model": "snapshot.shop.flights_history",
        "column": "updated_at",
        "type_": "bigint",
        "hard_deletes": "invalidate",
    },
    "no_range_of_bytes": {"column": "tail_number", "greatest": b"\xff\xfe41"},
    "nothing_to_compare": {"table": TARGET, "found": "has no checkpoint"},
    "nondeterministic_result": {"found": ("rand()", "current_date")},
    "rebuild_failed": {"error": "[DIVIDE_BY_ZERO] Division by zero."},
    "no_common_columns": {"table": TARGET},
    "tables_differ": {"models": (MODEL, "model.shop.flights_staged")},
    "not_a_fraction": {"found": "5%"},
    "no_state": {"folder": None},
    "not_one_table": {"found": "lake.analytics.carriers"},
    "not_a_position": {"snapshot_id": 42, "source": _SOURCE},
    "not_a_duration": {"name": "max_snapshot_age", "found": "soon"},
    "not_a_flag": {"name": "dry_run", "found": "yes, please"},
    "not_a_time": {"found": "yesterday"},
    "not_a_whole_number": {"name": "snapshot_id", "found": "latest"},
    "launcher_failed": {"output": "Error: Invalid memory size 2x"},
    "no_spark_home": {"folder": "/opt/spark-3"},
    "no_java": {"rejected": ["Java 11 in /usr/lib/jvm/java-11 (PATH) cannot run Spark 4"], "versions": "17 to 22"},
    "nothing_to_watch": {"selected": 4},
    "not_built_by": {"found": "delta"},
    "not_columns": {"macro": "ip_changed_groups", "value": None},
    "not_a_value": {"macro": "ip_changelog", "argument": "per", "value": "day", "known": ("range", "commit")},
    "not_columns_of_the_model": {"config": "sequence_by", "unknown": ("updated_at",)},
    "other_format": {"provider": "delta"},
    "not_iceberg": {"error": NotIcebergError(_VIEW)},
    "audit_test_failed_to_run": {"test": _TEST, "error": "[UNRESOLVED_COLUMN.WITH_SUGGESTION] `carier`"},
    "not_literal": {"found": "dbt.ip_changes(source)"},
    "keeps_no_branches": {"branch": "ip_8_4f0c3d2a91be", "history": _NESSIE},
    "refused_request": {"doer": MODEL, "said": "ForbiddenException: Forbidden: dbt may not SET_TABLE_PROPERTIES"},
    "keeps_no_tags": {"tag": f"ip_held_by.{TARGET}.8", "history": _history(FLIGHTS, 9)},
    "other_format_version": {"asked": 3},
    "not_on_the_branch": {"branch": "ip_8_1", "statements": 2, "own": (_snapshot(9),), "held_back": ()},
    "not_one_model": {"name": "daily", "found": 0, "known": ("daily_delays", "flights_staged")},
    "not_one_source": {"text": "flight", "found": 0, "candidates": (FLIGHTS, WEATHER)},
    "not_replayable": {"source": str(FLIGHTS)},
    "on_main": {"found": _snapshot(9)},
    "other_columns": {"columns": ("arr_delay",)},
    "other_event_times": {"others": ("lake.ops.flights: dep_time",)},
    "other_groups": {
        "before": ChangedGroups(_KEYS, (), frozenset({FLIGHTS})),
        "found": ChangedGroups(("carrier",), (), frozenset({WEATHER})),
    },
    "other_key_types": {"types": {"lake.ops.flights": ("string", "date"), str(TARGET): ("string", "timestamp")}},
    "other_model": {"checkpoint": _checkpoint("model.shop.delays")},
    "other_partitioning": {"found": ("months(flight_day)",)},
    "output_and_format": {"wanted": "html", "output": None},
    "other_sequence": {"found": ()},
    "other_specs": {"specs": (LiveSpec(0, 12, ("months(flight_day)",), False), LiveSpec(1, 3, ("flight_day",), True))},
    "out_of_sync": {"types": (("arr_delay", "double", "float"),), "missing": ()},
    "published_twice": {"head": _snapshot(8), "again": _snapshot(9)},
    "page_not_written": {
        "output": Path("reports/status.html"),
        "error": FileNotFoundError(2, "No such file or directory", "reports/status.html"),
    },
    "refused_settings": {"who": MODEL, "found": ((REFUSED[0], "true"),)},
    "reads_own_table": {},
    "reads_others": {"known": (str(FLIGHTS), str(WEATHER))},
    "unknown_time_zone": {"zone": "Mars/Olympus"},
    "reserved_columns": {"columns": ("_file",)},
    "rewritten": {
        "found": Rewritten(_SOURCE, _position(4), _snapshot(9), (_snapshot(5, "overwrite"), _snapshot(7, "delete")))
    },
    "spark_has_ended": {"code": 137},
    "table_in_the_way": {"table": TableName("lake", "analytics", "daily_delays__ip_deleted")},
    "tied": {"found": f"{_ONE_KEY} (2 rows)"},
    "tied_deletion": {"found": _ONE_ROW},
    "tied_with_deletion": {"found": _ONE_ROW},
    "tied_with_row": {"found": _ONE_ROW},
    "too_many_additions": {"found": 120},
    "unchanged_groups": {"found": '{"carrier":"none","flight_day":"2026-01-05"} (12 rows)'},
    "unknown_arguments": {
        "macro": "ip_changelog",
        "known": ("relation", "unique_key", "per"),
        "positional": 0,
        "named": ("key",),
    },
    "unknown_columns": {"macro": "ip_changelog"},
    "unknown_function": {
        "macro": "ip_change",
        "known": tuple(READS),
    },
    "unknown_epoch": {"epoch": 12, "known": (3, 4, 5, 6, 7)},
    "unknown_format": {"found": "yaml", "known": ("text", "json")},
    "unknown_reader": {"mode": "duckdb", "modes": ("auto", "pyiceberg", "spark")},
    "unreachable": {
        "what": "catalog lake",
        "shown": "ConnectionError: refused by catalog.example.com",
        "missing_module": None,
    },
    "target_not_iceberg": {"error": NotIcebergError(f"{TARGET} is a view; expected an Iceberg table.")},
    "maintenance_failed": {"failed": ((str(FLIGHTS), "rewrite_data_files: Cannot commit, found new delete"),)},
    "unreadable_by_spark": {"error": Exception("connection refused by catalog.example.com")},
    "unreadable_checkpoint": {
        "error": UnreadableCheckpoint(Place(TARGET, _id(9)), CheckpointFlaw.OTHER_VERSION, "2"),
    },
    "values_do_not_fit": {"found": (("arr_delay", "double", "float"),), "promotable": True},
    "window_cuts_partitions": {"partition_by": "flight_day"},
    "wrong_materialization": {"materialized": "table"},
    "foreign_types": {"types": {"departed_at": "timestamp_ns"}, "found": "Cannot convert unknown type to Spark"},
    "wrong_sort_by": {"value": "flight_day descending", "found": "neither a column name nor a transform of a column"},
    "wrong_partition_by": {"value": "day(flight_day, 1)", "found": "but day() takes exactly one column"},
    "wrong_selection": {
        "select": "+daily_delays",
        "unknown": ("+daily_delays",),
        "known": ("daily_delays", "flights_staged"),
    },
    "logic_changed": {
        "is_new": True,
        "after": 7,
        "differences": (
            "SQL:",
            "  -    sum(arr_delay) as delay",
            "  +    sum(arr_delay) / 60.0 as delay",
            'var(\'region\'): "eu" → "us"',
        ),
    },
    "strategy_of_another_materialization": {"strategy": "apply_changes"},
    "other_key": {"wanted": ("flight_id",), "found": ("carrier", "flight_no")},
    "not_a_table_name": {"what": "source", "text": "flights"},
    "wrong_argument": {"name": "full_refresh", "found": "false", "expected": "true or false"},
    "not_a_frame": {"method": "append", "found": str},
    "nothing_written": {"job": _JOB, "sources": (FLIGHTS,)},
    "nothing_captured": {"job": _JOB},
    "written_twice": {"job": _JOB, "first": "append", "second": "merge"},
    "run_without_block": {"name": "append"},
    "run_has_ended": {"job": _JOB},
    "not_partitioned": {"job": _JOB},
    "columns_changed": {"name": _JOB},
    "format_not_written": {"version": 3, "kind": "sql", "table": TARGET},
    "main_moved": {"name": _JOB, "captured_at": _id(8)},
    "not_from_capture": {"name": _JOB, "branch": _BRANCH},
    "nothing_staged": {"name": _JOB, "branch": _BRANCH},
    "read_only_catalog": {"kind": "hadoop", "table": TARGET},
    "written_elsewhere": {"name": _JOB, "branch": _BRANCH, "captured_at": _id(8)},
    "rows_staged": {"name": _JOB, "branch": _BRANCH, "history": _branched(_history(TARGET, 9))},
    "target_replaced": {"name": _JOB},
    "unreadable_run": {"where": "run.json", "why": "JSONDecodeError: Expecting value: line 1 column 1 (char 0)"},
    "key_without_groups": {"job": _JOB, "key": ("flight_id",), "groups": ("flight_day",)},
    "no_origin": {"origin": TARGET, "clone": _CLONE},
    "origin_changed": {"origin": TARGET, "clone": _CLONE},
    "same_folder": {"origin": TARGET, "clone": _CLONE, "folder": "s3://lake/daily_delays"},
    "no_longer_kept": {"origin": TARGET, "clone": _CLONE, "first": FLIGHTS},
    "removes_files": {"clone": _CLONE, "origin": TARGET},
    "same_table": {"origin": TARGET, "clone": _CLONE},
    "not_registered": {
        "origin": TARGET,
        "catalog": "lake",
        "said": "java.lang.UnsupportedOperationException: Registering tables is not supported",
    },
    "no_schema": {"found": None},
    "clone_onto_itself": {"table": FLIGHTS},
    "not_a_clone": {"table": FLIGHTS},
    "must_not_rebuild": {"reason": "lake.ops.flights: the table was dropped and created again (rebuilt)."},
}

Made = Callable[..., IncrementalError]


def modules() -> Iterator[ModuleType]:
    """The modules that create errors: the engine's by name, then the adapter's by folder."""
    for module in iter_modules(explain.__path__):
        if module.name.endswith("_errors"):
            yield import_module(f"{explain.__name__}.{module.name}")
    for path in sorted(ADAPTER.glob("*/*_errors.py")):
        yield import_module(f"dbt.adapters.spark_iceberg.{path.parent.name}.{path.stem}")


def makers(module: ModuleType) -> list[Made]:
    """The public functions of a module that create errors, in the order of their definitions."""
    return [
        each
        for name, each in vars(module).items()
        if getattr(each, "__module__", "") == module.__name__ and not name.startswith("_") and _makes_errors(each)
    ]


def _makes_errors(each: object) -> bool:
    made = getattr(each, "__annotations__", {}).get("return", "")
    return isinstance(made, str) and made.isidentifier() and made.endswith("Error")


def example(make: Made) -> IncrementalError:
    """An example of a function's error. Raises KeyError for a parameter without a value."""
    own = BY_FUNCTION.get(make.__name__, {})
    given: dict[str, Any] = {}
    positional = []
    for name, parameter in signature(make).parameters.items():
        if name not in own and name not in BY_NAME:
            if parameter.default is not Parameter.empty:
                continue
            raise KeyError(f"website/error_examples.py has no value for {name} of {make.__name__}()")
        value = own.get(name, BY_NAME.get(name))
        if parameter.kind is Parameter.KEYWORD_ONLY:
            given[name] = value
        else:
            positional.append(value)
    return make(*positional, **given)
