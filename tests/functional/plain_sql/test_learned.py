"""What the runs of an ``auto`` model learn about its costs, as a property of its table."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.spark.port import DbtSpark
from iceberg_incremental.errors import StatementError
from iceberg_incremental.plan import rebuild_cost
from iceberg_incremental.plan.learned import KEY, NOTHING, learned
from iceberg_incremental.spark.table_commits import TableCommits

from .test_auto import auto  # noqa: F401 (a fixture)
from .test_explain import explained

AMOUNTS = "select id, customer_id, amount from {orders}"
ORDER = "insert into {orders} values (7, 1, 10.00, null, null)"


@pytest.fixture
def amounts(auto, monkeypatch):  # noqa: F811
    """A small model whose updates are measured like those of a large one, and that never gains from a rebuild."""
    monkeypatch.setattr(rebuild_cost, "LEAST_S", 0)
    for name in ("_RUN", "_SCAN", "_CONTINUED"):
        monkeypatch.setattr(rebuild_cost, name, 0)
    monkeypatch.setattr(rebuild_cost, "_WRITTEN", 1)
    auto.model("amounts", AMOUNTS)
    auto.shop.run()
    return auto


def of(auto, name="amounts"):  # noqa: F811
    return learned(auto.shop.properties(auto.shop.built(name)))


def write(auto, text, name="amounts"):  # noqa: F811
    auto.shop.sql(f"alter table {auto.shop.built(name)} set tblproperties ('{KEY}' = '{text}')")


@pytest.mark.core
def test_a_commit_that_is_retried_counts_once(amounts, monkeypatch):
    publish, failed = TableCommits.publish, []

    def refused(self, *arguments):
        if not failed:
            failed.append(True)
            raise StatementError("CommitFailedException: Table metadata refresh is required")
        publish(self, *arguments)

    monkeypatch.setattr(TableCommits, "publish", refused)
    write(amounts, "{}")
    amounts.change("update {orders} set amount = amount + 1 where id = 2")
    amounts.shop.run()
    found = of(amounts)
    assert failed and found.last.way == "replace_keys"
    assert found.kept == pytest.approx(NOTHING.after(found.last).kept, rel=0.01)
    assert amounts.differs("amounts", AMOUNTS) == [[], []]


@pytest.mark.core
def test_a_table_with_other_rows_learns_anew(amounts):
    shop = amounts.shop
    known = '{"kept":9,"rebuilt":9,"last":["replace_keys",1,9],"key":["amount"],"rows_per_key":9}'
    other = AMOUNTS.replace("amount from", "amount + 1 as amount from")
    for sql, config in (
        (AMOUNTS, {}),  # another writer has changed the table
        (other, {}),
        (AMOUNTS, {"partition_by": "customer_id"}),  # a partitioned build is not measured
    ):
        write(amounts, known)
        shop.sql(f"insert into {shop.built('amounts')} values (99, 1, 1.00)")
        amounts.model("amounts", sql, **config)
        amounts.change(ORDER)
        shop.run(*["--full-refresh"] * bool(config))
        found = of(amounts)
        assert (found.kept, found.key, found.rows_per_key) == (1, (), 0), sql
        assert config == {} or found == NOTHING
        assert amounts.differs("amounts", sql) == [[], []]


@pytest.mark.parametrize(
    "text", ['{"kept":NaN,"rebuilt":NaN,"rows_per_key":NaN}', f'{{"kept":{10**400}}}', '{"key":7}']
)
def test_a_broken_property_is_replaced(amounts, text):
    write(amounts, text)
    amounts.change("update {orders} set amount = amount + 1 where id = 2")
    amounts.shop.run()
    assert of(amounts).last.way == "replace_keys"
    assert amounts.differs("amounts", AMOUNTS) == [[], []]


def test_an_explanation_is_not_measured(amounts, monkeypatch):
    write(amounts, "{}")
    amounts.change(ORDER, "delete from {orders} where id = 2")
    measured = []
    monkeypatch.setattr(DbtSpark, "executor_seconds", lambda self: measured.append(True))
    assert explained(amounts.shop)["amounts"]["next_run"]["way"] == "replace_keys"
    assert not measured
