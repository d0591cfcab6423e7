"""The output of ``ip_explain``, as text and as JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dbt.adapters.spark_iceberg.status.explanation import (
    Explanation,
    NextRun,
    PendingRange,
    as_json,
    as_text,
)
from iceberg_incremental.query.rules.sources import Restriction
from iceberg_incremental.write.auto.update_method import NotIncremental, ReadRows, UpdateMethod

BY_CUSTOMER = UpdateMethod(
    ("customer_id",),
    "read rows",
    (
        ReadRows("lake.raw.orders", (Restriction("customer_id", "customer_id"),)),
        ReadRows("lake.raw.customers", (Restriction("id", "customer_id", "orders.customer_id = customers.id"),)),
        ReadRows("lake.raw.rates"),
    ),
)
PENDING = PendingRange("lake.raw.orders", "net", 2, 3, 40, 2048)
NEXT = NextRun("apply", "replace_keys", "3 keys of a table of 100 rows are affected", (PENDING,), 3, 1, 4)
SPENT = Explanation(
    "model.shop.spent",
    "lake.dwh.spent",
    "iceberg_incremental_snapshot",
    "auto",
    "fail",
    is_incremental=True,
    update_method=BY_CUSTOMER,
    next_run=NEXT,
)
LIMIT = NotIncremental("LIMIT", 3, "use a window")
TABLE = Explanation("model.shop.t", "lake.dwh.t", "table")
ROWS = [
    "  lake.raw.orders: read where customer_id is an affected customer_id",
    "  lake.raw.customers: read where id is an affected customer_id (by orders.customer_id = customers.id)",
    "  lake.raw.rates: read as a whole",
]
T = "model.shop.t (lake.dwh.t), table: could be auto: "


def test_an_incremental_model():
    assert as_text([SPENT]).splitlines() == [
        "model.shop.spent (lake.dwh.spent), auto: incremental by customer_id (values of changed rows that it reads)",
        *ROWS,
        "  pending in lake.raw.orders (net): 2 snapshots, 3 files, 40 rows, 2.0 KiB",
        "  next run: replaces the affected rows, since 3 keys of a table of 100 rows are affected; in at most 1 of 4 "
        "files of the table",
    ]


@pytest.mark.parametrize(
    ("found", "first"),
    [
        (replace(TABLE, not_incremental=LIMIT), T + "no, because of LIMIT (line 3); use a window"),
        (replace(TABLE, not_incremental=NotIncremental("Python")), T + "no, because of Python"),
        (
            replace(TABLE, update_method=UpdateMethod((), "read rows", ())),
            T + "yes, incremental as a whole: each change affects all rows",
        ),
        (
            replace(TABLE, update_method=UpdateMethod((), "read rows", (), ("n",))),
            T + "yes, incremental as a whole: n updated from changed rows alone, where possible",
        ),
        (
            replace(TABLE, update_method=UpdateMethod(("a",), "read rows", (), ("n", "m"))),
            T + "yes, incremental by a (values of changed rows that it reads); n, m updated from changed rows alone, "
            "where possible",
        ),
        (
            replace(TABLE, update_method=UpdateMethod(("a", "b"), "result rows", ())),
            T + "yes, incremental by a, b (values of changed rows of its result)",
        ),
        (replace(TABLE, error="no such table\nExpected: one"), T + "unknown"),
        (
            replace(SPENT, update_method=None, not_incremental=LIMIT, next_run=None),
            "model.shop.spent (lake.dwh.spent), auto: not incremental, because of LIMIT (line 3); use a window. "
            "A run fails (on_not_incremental: fail)",
        ),
    ],
)
def test_the_first_line_states_whether_a_model_is_incremental(found, first):
    assert as_text([found]).splitlines()[0] == first


def test_an_error_is_shown_in_full():
    assert as_text([replace(TABLE, error="no such table\n  Expected: one")]).splitlines()[1:] == [
        "    no such table",
        "      Expected: one",
    ]


@pytest.mark.parametrize(
    ("next_run", "line"),
    [
        (NextRun("nothing"), "  next run: nothing to do"),
        (NextRun("rebuild", reason="first build."), "  next run: builds the whole table, since first build"),
        (
            NextRun("apply", "none", "no row is affected"),
            "  next run: moves the checkpoint only, since no row is affected",
        ),
    ],
)
def test_the_next_run(next_run, line):
    assert as_text([replace(SPENT, next_run=next_run)]).splitlines()[-1] == line


def test_no_model():
    assert as_text([]).startswith("No model of this project")


def test_json_has_the_same_content():
    (found,) = json.loads(as_json([SPENT]))["models"]
    assert found["update_method"]["key"] == ["customer_id"] and found["next_run"]["affected_keys"] == 3
    assert found["update_method"]["reads"][1]["by"][0]["through"] == "orders.customer_id = customers.id"
