"""The output of operations that pages show, created by the functions that print it."""

from __future__ import annotations

from collections.abc import Sequence

from dbt.adapters.spark_iceberg.operations.maintain_report import Done, Report, TableReport
from dbt.adapters.spark_iceberg.operations.maintain_report import as_text as maintenance_text
from dbt.adapters.spark_iceberg.operations.maintain_sql import steps
from dbt.adapters.spark_iceberg.status import explanation, verification
from dbt.adapters.spark_iceberg.status import ledger as found_ledger
from dbt.adapters.spark_iceberg.status.model_status import ModelStatus, SourceStatus
from dbt.adapters.spark_iceberg.status.model_status import as_text as status_text
from iceberg_incremental.explain import wording
from iceberg_incremental.maintenance.compaction import DataRewrite
from iceberg_incremental.maintenance.expiry import Expiry, RetainedForReader
from iceberg_incremental.maintenance.table_plan import TablePlan
from iceberg_incremental.plan.learned import Outcome
from iceberg_incremental.plan.rebuild_cost import Reads, choose
from iceberg_incremental.query.plan import incremental_query
from iceberg_incremental.query.rules.sources import Restriction
from iceberg_incremental.query.text.refusal import Refusal
from iceberg_incremental.table.checkpoint import KEY, Checkpoint, Position
from iceberg_incremental.table.history import History, Snapshot, TableName
from iceberg_incremental.table.shares import Share
from iceberg_incremental.verify.found import Found, Result
from iceberg_incremental.write.auto import update_method

JANUARY_MS = 1_767_225_600_000
DAY_MS = 86_400_000
OPS = TableName("lake", "ops", "flights")
_ID = 3_051_729_675_574_597_000
_STAGED, _DELAYS = TableName("lake", "analytics", "flights_staged"), TableName("lake", "analytics", "daily_delays")


def refused(line: int, sql: str) -> Refusal:
    """Why a query whose SELECT begins in the given line is refused, or replaced as a whole."""
    text, found = "\n" * (line - 1) + sql, None
    try:
        found = incremental_query(text, {OPS: {"id": "int"}}, "lake", {"id": "int"}).whole
    except Refusal as refusal:
        return refusal
    assert found is not None
    return found


LIMITED = "select id from lake.ops.flights limit 10"
RANDOM = "select id from lake.ops.flights where rand() < 0.1"


def status() -> str:
    read = SourceStatus(
        str(OPS), _ID + 4, JANUARY_MS + 4 * DAY_MS, "append", 3, 12, 43_211, 8_493_466, age_ms=2 * DAY_MS
    )
    done = SourceStatus(str(_STAGED), _ID + 3, JANUARY_MS + 4 * DAY_MS, "nothing", age_ms=2 * DAY_MS)
    return status_text(
        [
            ModelStatus.of_action("model.shop.flights_staged", str(_STAGED), 7, "apply", sources=[read]),
            ModelStatus.of_action("model.shop.daily_delays", str(_DELAYS), 7, "nothing", sources=[done]),
        ]
    )


def clone() -> str:
    kept_until = 1_796_147_400_000
    clone = ModelStatus(
        "model.shop.orders",
        "lake.dev.orders",
        12,
        "applies what is pending",
        cloned_from="lake.prod.orders",
        files_kept_until_ms=kept_until,
    )
    return status_text([clone])


def explained() -> str:
    key, through = "customer_id", "orders.customer_id = customers.id"
    reads = [
        update_method.ReadRows("lake.raw.orders", [Restriction(key, key)]),
        update_method.ReadRows("lake.raw.customers", [Restriction("id", key, through)]),
        update_method.ReadRows("lake.raw.rates"),
    ]
    costs = Reads(2_000_000, (2_000_000, 2_000_000, 7), searched=812, scans=(0, 0, 0))
    following = explanation.NextRun(
        "apply",
        "replace_keys",
        choose(costs, 402).reason,
        [explanation.PendingRange("lake.raw.orders", "net", 3, 4, 812, 98_714)],
        affected_files=7,
        table_files=32,
    )
    spent = explanation.Explanation(
        "model.shop.spent",
        "lake.analytics.spent",
        "iceberg_incremental_snapshot",
        "auto",
        "fail",
        is_incremental=True,
        update_method=update_method.UpdateMethod([key], "read rows", reads, operators=[_operators()]),
        next_run=following,
        last_cost=Outcome("replace_all", 5.1, 7.9),
    )
    top = explanation.Explanation(
        "model.shop.top_ten",
        "lake.analytics.top_ten",
        "table",
        is_incremental=True,
        update_method=update_method.UpdateMethod(
            (),
            "read rows",
            [update_method.ReadRows("lake.raw.orders")],
            (),
            update_method.not_incremental(refused(4, LIMITED)),
        ),
    )
    return explanation.as_text([spent, top])


def _operators() -> update_method.OperatorTree:
    rows = {"orders": 2_000_000, "customers": 400_000, "rates": 12_000}

    def operator(
        name: str, text: str, how: str, seconds: float, *inputs: update_method.OperatorTree
    ) -> update_method.OperatorTree:
        read = [source for each in inputs for source in each.sources]
        return update_method.OperatorTree(
            name, text, how, read, sum(each.rows or 0 for each in inputs), seconds, inputs
        )

    scans = {each: update_method.OperatorTree("scan", "", "incremental", [f"lake.raw.{each}"], rows[each], 0, ())
             for each in rows}  # fmt: skip
    customers = operator(
        "inner join", "orders.customer_id = customers.id", "incremental", 0, scans["orders"], scans["customers"]
    )
    rates = operator("inner join", "orders.currency = rates.currency", "incremental", 0, customers, scans["rates"])
    return update_method.OperatorTree("group", "orders.customer_id", "grouped", rates.sources, rates.rows, 0.4, [rates])


def ledger() -> str:
    commits = {1: (900, 900), 2: (2_714, 3_614), 3: (4_480, 8_094)}
    ends = {1: 1, 2: 4, 3: 9}
    rows = {1: 900, 4: 2_714, 9: 4_480}
    source: list[Snapshot] = []
    for number in range(1, 10):
        summary = {
            "spark.app.id": "local-1",
            "added-data-files": "1",
            "added-records": str(rows.get(number, 0)),
            "total-records": str(sum(count for at, count in rows.items() if at <= number)),
        }
        before = None if number == 1 else _ID + number - 1
        source.append(Snapshot(_ID + number, before, number, JANUARY_MS + number * DAY_MS, "append", summary))
    target = []
    for epoch, (added, total) in commits.items():
        end = ends[epoch]
        position = Position(
            "a",
            _ID + end,
            end,
            JANUARY_MS,
            continues=epoch > 1,
            from_snapshot_id=_ID + ends[epoch - 1] if epoch > 1 else None,
        )
        share = Share(added, _bytes(added), total, _bytes(total))
        carried = Checkpoint("model.shop.flights_staged", epoch, "run", {str(OPS): position}, shares={str(OPS): share})
        summary = {
            "added-records": str(added),
            "total-records": str(total),
            "added-data-files": "1",
            KEY: carried.to_json(),
        }
        before = epoch - 1 or None
        target.append(Snapshot(epoch, before, epoch, JANUARY_MS + epoch * DAY_MS, "append", summary))
    table, read = _history(_STAGED, target), _history(OPS, source)
    known = found_ledger.entries(table, [])
    return found_ledger.as_text(found_ledger.ledger(table, known, {str(OPS): read}), known)


def _bytes(rows: int) -> int:
    return int(rows * 30.72)


def _history(table: TableName, snapshots: Sequence[Snapshot]) -> History:
    found = {each.snapshot_id: each for each in snapshots}
    return History(table, "a", 2, snapshots[-1].snapshot_id, found, {"main": snapshots[-1].snapshot_id}, {})


def skipped() -> str:
    added = {"added-data-files": "4", "added-records": "14403", "added-files-size": "2831155"}
    last = {**added, "added-records": "14405", "added-files-size": "2831156"}
    commits = [Snapshot(_ID + 4 + n, None, None, 0, "append", each) for n, each in enumerate((added, added, last), 1)]
    return wording.skips(
        "model.shop.flights_staged", str(OPS), Position(None, _ID + 4, 4, JANUARY_MS + 4 * DAY_MS), commits
    )


def maintained() -> str:
    since = 1_771_912_812_000
    data = DataRewrite(44, 38, 3, 101_082_726, 3, 38, 0, 0, 0, 1 << 29, 128 << 20, frozenset())
    staged = TablePlan(
        _STAGED,
        left=("ip_41_5e0c6ab1f2d3",),
        data=data,
        expiry=Expiry(tuple(range(31)), 60, (), since, 1, 1_288_490_189),
        held_back=RetainedForReader("model.shop.daily_delays", since, 12),
    )
    done = tuple(Done(step, None) for step in steps(staged))
    return maintenance_text(Report((TableReport(staged, done), TableReport(TablePlan(_DELAYS), ())), dry_run=True))


def verified() -> str:
    day = {"day": "2026-01-07", "orders": 9, "amount": 310.0}
    found = Found(
        missing=1,
        changed=1,
        columns={"orders": 1, "amount": 1},
        examples={
            "missing": [{"day": "2026-01-05", "orders": 12, "amount": 480.0}],
            "changed": [{"rebuilt": day, "table": {**day, "orders": 8, "amount": 270.0}}],
        },
    )
    return verification.as_text(
        [
            verification.Verification(
                "model.shop.orders_by_day",
                "lake.analytics.orders_by_day",
                Result.DIFFERS,
                3051729675574597004,
                7,
                rows=365,
                found=found,
                sql="select …",
            ),
            verification.Verification(
                "model.shop.customers", "lake.analytics.customers", Result.EQUAL, 8723064221837452109, 31, rows=48_201
            ),
        ]
    )
