"""Runs of histories and snapshots die at each of their statements. The next run repairs their tables.

The run of each table dies at a different statement. From then on, none of its statements reach Spark, as if the process
had been killed. The runs of one table do not die: in the end, all other tables must have the same versions.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from typing import Any

import pytest
from dbt.adapters.factory import FACTORY
from dbt_common.exceptions import DbtDatabaseError

from dbt.adapters.spark_iceberg.spark.connections import SparkIcebergConnectionManager
from iceberg_incremental.errors import StatementError
from iceberg_incremental.spark.table_commits import TableCommits
from tests.functional.fuzz.conftest import shop, small_shop
from tests.functional.incremental.shop import Shop, hold_as_a_server

__all__ = ["shop", "small_shop"]

MOST = 30
"""More statements than any run has."""

SNAPSHOT = """
{{% snapshot {name} %}}
{{{{ config(unique_key='id', strategy='check', check_cols='all', hard_deletes='new_record') }}}}
select id, v from {{{{ source('raw', 'rows') }}}}
{{% endsnapshot %}}
"""
CHANGES = [
    [
        "update {} set v = 'b' where id = 1",
        "delete from {} where id = 2",
        "insert into {} values (4, 'a', 4, 'INSERT')",
    ],
    ["insert into {} values (2, 'a', 5, 'INSERT')", "update {} set v = 'c' where id in (1, 4)"],
]
EVENTS = [
    [
        "insert into {} values (1, 'b', 8, 'INSERT'), (2, 'a', 7, 'DELETE')",
        "insert into {} values (4, 'a', 4, 'INSERT')",
    ],
    [
        "insert into {} values (1, 'c', 6, 'INSERT'), (2, 'b', 5, 'INSERT')",
        "insert into {} values (4, 'a', 9, 'INSERT')",
    ],
]


class Deaths:
    """Counts the statements of each node. A node with a number in its name dies at the statement with this number."""

    def __init__(self, *, is_sent: bool) -> None:
        """``is_sent``: whether the node dies after the statement was executed, instead of before."""
        self._is_sent = is_sent
        self._calls: Counter[str] = Counter()
        self._lock = threading.Lock()

    def plant(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for owner, name, error in (
            (SparkIcebergConnectionManager, "add_query", DbtDatabaseError),
            (SparkIcebergConnectionManager, "hold", DbtDatabaseError),
            (TableCommits, "make_branch", StatementError),
            (TableCommits, "publish", StatementError),
        ):
            monkeypatch.setattr(owner, name, self._dying(getattr(owner, name), error))

    def _dying(self, call: Any, error: type[Exception]) -> Any:
        def dying(this: Any, *args: Any, **kwargs: Any) -> Any:
            node = str(FACTORY.adapters["spark_iceberg"].connections.get_thread_connection().name)
            number = re.search(r"\.kept_(\d+)$", node)
            if number is None:
                return call(this, *args, **kwargs)
            with self._lock:
                self._calls[node] += 1
                left = int(number[1]) - self._calls[node]
            if left < 0 or (left == 0 and not self._is_sent):
                raise error("the process has ended")
            found = call(this, *args, **kwargs)
            if left == 0:
                raise error("the process has ended")
            return found

        return dying


class Tables:
    """A source, and tables of one kind that read it."""

    def __init__(self, shop: Shop, kind: str) -> None:
        self.shop, self.kind = shop, kind
        self.names = [f"kept_{number}" for number in range(1, MOST + 1)]
        self.source = shop.source("rows", "id int, v string, s int, op string")
        shop.insert(self.source, "(1, 'a', 1, 'INSERT')", "(2, 'a', 2, 'INSERT')", "(3, 'a', 3, 'INSERT')")
        for name in [*self.names, "alive"]:
            if kind == "snapshot":
                shop.write(f"snapshots/{name}.sql", SNAPSHOT.format(name=name))
            elif kind == "log":
                sql = "select id, v, s, op as _change_type from {{ ip_changes(source('raw', 'rows')) }}"
                self._model(name, sql, sequence_by="s", check_cols=["v"])
            else:
                sql = "select id, v, _change_type, _commit_order from {{ ip_changelog(source('raw', 'rows')) }}"
                self._model(name, sql, hard_deletes="new_record")

    def _model(self, name: str, sql: str, **config: Any) -> None:
        self.shop.model(name, sql, incremental_strategy="history", unique_key="id", **config)

    def change(self, number: int) -> None:
        for statement in (EVENTS if self.kind == "log" else CHANGES)[number]:
            self.shop.sql(statement.format(self.source))

    def run(self) -> Any:
        return self.shop.dbt("snapshot" if self.kind == "snapshot" else "run")

    def versions(self, name: str) -> Counter[Any]:
        """The versions in a table. For a snapshot, without the times, which are those of its runs."""
        columns = "id, v, dbt_valid_from, dbt_valid_to, dbt_scd_id"
        if self.kind == "snapshot":
            columns = "id, v, dbt_valid_to is null, dbt_is_deleted"
        return self.shop.rows(self.shop.built(name), columns)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("server", "is_sent"), [(False, False), (False, True), (True, False)], ids=["before", "after", "server"]
)
@pytest.mark.parametrize("kind", ["history", "log", "snapshot"])
def test_a_run_that_dies_at_any_statement(small_shop, monkeypatch, kind, server, is_sent):
    if server:
        hold_as_a_server(monkeypatch)
    tables = Tables(small_shop, kind)
    assert tables.run().success
    tables.change(0)
    with monkeypatch.context() as patched:
        Deaths(is_sent=is_sent).plant(patched)
        found = tables.run()
    died = [name for name in tables.names if "the process has ended" in found.message(name)]
    assert 6 < len(died) < MOST
    assert died == tables.names[: len(died)]
    assert str(found.nodes["alive"].status) == "success"
    assert tables.run().success
    expected = tables.versions("alive")
    assert {name for name in tables.names if tables.versions(name) != expected} == set()
    tables.change(1)
    assert tables.run().success
    assert tables.versions("alive") != expected
    expected = tables.versions("alive")
    assert {name for name in tables.names if tables.versions(name) != expected} == set()
    assert {name for name in tables.names if small_shop.branches(small_shop.built(name)) != {"main"}} == set()
