"""The output of ``ip_verify``, as text and as JSON."""

from __future__ import annotations

import json

import pytest

from dbt.adapters.spark_iceberg.operations.arguments import share
from dbt.adapters.spark_iceberg.status.verification import Report, Verification, as_text
from iceberg_incremental.errors import ConfigError
from iceberg_incremental.verify.found import Found, Result

DIFFERS = Verification(
    "model.shop.orders",
    "lake.shop.orders",
    Result.DIFFERS,
    snapshot_id=42,
    epoch=7,
    sources={"lake.raw.orders": 3},
    rows=12_345,
    share=0.05,
    found=Found(1, 0, 2, 1, {"amount": 3}, {"missing": [{"id": 1}], "changed": [{"rebuilt": {"id": 2}, "table": {}}]}),
    sql="select 1\nfrom t",
    notes=["the logic has changed"],
)
EQUAL = Verification("model.shop.days", "lake.shop.days", Result.EQUAL, 43, 2, rows=1, found=Found(), sql="select 2")
EXPIRED = Verification("model.shop.old", "lake.shop.old", reason="snapshot 3 has expired\n  To fix: run")


def test_the_text():
    assert as_text([DIFFERS, EQUAL, EXPIRED]).splitlines() == [
        "model.shop.orders (lake.shop.orders): DIFFERS (12,345 rows at snapshot 42, run 7, a sample of 5% of the keys)",
        "  1 row in the rebuild, but not in the table:",
        '    {"id": 1}',
        "  2 rows with other values:",
        '    {"rebuilt": {"id": 2}, "table": {}}',
        "  1 row with other values by rounding only:",
        "  columns: amount (3)",
        "  note: the logic has changed",
        "  SQL that shows all differences:",
        "    select 1",
        "    from t",
        "model.shop.days (lake.shop.days): equal (1 row at snapshot 43, run 2)",
        "model.shop.old (lake.shop.old): not compared",
        "    snapshot 3 has expired",
        "      To fix: run",
        "1 equal, 1 differs, 1 not compared",
    ]
    assert as_text([]).startswith("No model")


def test_the_json():
    report = Report([DIFFERS, EQUAL], is_json=True)
    assert report.differing == ["model.shop.orders"]
    document = json.loads(report.shown)
    assert document["version"] == 1
    assert document["models"][0]["found"]["columns"] == {"amount": 3}
    assert [each["result"] for each in document["models"]] == ["differs", "equal"]


@pytest.mark.parametrize(("given", "found"), [(None, 1.0), (0.05, 0.05), ("0.5", 0.5), (1, 1.0)])
def test_a_share(given, found):
    assert share(given) == found


@pytest.mark.parametrize("given", [0, -1, 1.5, True, "5%", "nan"])
def test_invalid_shares(given):
    with pytest.raises(ConfigError, match="sample is"):
        share(given)
