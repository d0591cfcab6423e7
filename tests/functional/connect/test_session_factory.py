"""`session_factory`: sessions beside one that the user's own function returns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import quote

import pytest
from dbt_common.exceptions import DbtRuntimeError
from pyspark.sql import SparkSession

from dbt.adapters.spark_iceberg.profile.credentials import SparkIcebergCredentials
from dbt.adapters.spark_iceberg.spark import session_factory
from dbt.adapters.spark_iceberg.spark.connections import open_own_session
from tests.functional.adapter.any_server import AnyServer
from tests.functional.incremental.shop import CATALOG, Shop

from . import our_spark
from .conftest import TOKEN

pytestmark = pytest.mark.core
OURS = our_spark.__name__


@pytest.fixture(scope="module", autouse=True)
def remote(port: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(our_spark.REMOTE, f"sc://localhost:{port}/;token={quote(TOKEN, safe='')};user_id=us")
        yield


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    yield
    session_factory.forget(f"{OURS}:session")
    for opened in our_spark.calls:
        opened.stop()
    our_spark.calls.clear()


def target_of(function: str, **others: Any) -> dict[str, Any]:
    given = {"type": "spark_iceberg", "method": "connect", "session_factory": f"{OURS}:{function}", "threads": 4}
    return {**given, "catalog": CATALOG, **others}


def profile(function: str, **others: Any) -> SparkIcebergCredentials:
    data = SparkIcebergCredentials.translate_aliases({**target_of(function, **others), "schema": "s"})
    return SparkIcebergCredentials.from_dict(data)


def values(opened: Any, sql: str) -> list[Any]:
    cursor = opened.cursor()
    cursor.execute(sql)
    return [value for (value,) in cursor.fetchall()]


class TestFactory(AnyServer):
    """Tables, views, seeds, snapshots, tests and grants with four threads, as for each other connection."""

    @pytest.fixture(scope="class")
    @classmethod
    def dbt_profile_target(cls, port: int) -> dict[str, Any]:
        return target_of("session", catalog="lake")


def test_a_model_is_built_and_updated(tmp_path, outside):
    shop = Shop(tmp_path, target_of("session"), "shop_of_a_factory", outside.session)
    orders = shop.source("orders", "id int, amount decimal(10,2)")
    shop.insert(orders, "(1, 1.00)", "(2, 2.00)")
    sql = "select id, amount from {{ source('raw', 'orders') }}"
    shop.model("kept", sql, incremental_strategy="auto")
    assert shop.run().success
    shop.sql(f"delete from {orders} where id = 1")
    assert shop.run().success
    assert [tuple(row) for row in shop.sql(f"select id from {shop.built('kept')}")] == [(2,)]
    assert len(our_spark.calls) == 1


def test_connections_have_the_settings_of_the_function_and_share_nothing():
    with closing(open_own_session(profile("session"))) as first, closing(open_own_session(profile("session"))) as other:
        assert values(first, "select current_timezone()") == ["Asia/Tokyo"]
        first.configure("spark.sql.shuffle.partitions", "3")
        first.cursor().execute("create temporary view ours as select 1")
        assert other.settings()["spark.sql.shuffle.partitions"] != "3"
        with pytest.raises(DbtRuntimeError, match="TABLE_OR_VIEW_NOT_FOUND"):
            other.cursor().execute("select * from ours")
        (given,) = our_spark.calls
        with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
            given.sql("select * from ours").collect()
    assert given.sql("select 1").collect() == [(1,)]  # it was not stopped
    overridden = profile("session", server_side_parameters={"spark.sql.session.timeZone": "UTC"})
    with closing(open_own_session(overridden)) as third:
        assert values(third, "select current_timezone()") == ["UTC"]


def test_the_function_is_called_again_after_its_session_was_stopped():
    open_own_session(profile("session")).close()
    our_spark.calls[0].stop()
    with closing(open_own_session(profile("session"))) as opened:
        assert values(opened, "select 1") == [1]
    assert len(our_spark.calls) == 2


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        ("our_spark", "`session_factory` is 'our_spark'"),
        (f"{OURS}:session()", "as package.module:function"),
        ("no_such_module:session", "cannot be imported: .*no_such_module.*PYTHONPATH"),
        (f"{OURS}:sesion", "is not a function.*no such name"),
        (f"{OURS}:NUMBER", "is not a function.*of type int"),
        (f"{OURS}:fails", "raised an error: .*no token"),
        (f"{OURS}:text", "returned no session for `method: connect`.*builtins.str.*return the session"),
    ],
)
def test_functions_that_return_no_session(factory, message):
    with pytest.raises(DbtRuntimeError, match=f"(?s){message}"):
        open_own_session(profile("session", session_factory=factory))


def test_the_method_fits_the_session():
    with pytest.raises(DbtRuntimeError, match=r"(?s)returned no session for `method: session`.*set `method: connect`"):
        open_own_session(profile("session", method="session"))


def test_a_session_in_this_process(embedded_target, monkeypatch):
    from dbt.adapters.spark_iceberg.spark.in_process.session import open_session

    embedded = SparkIcebergCredentials.from_dict({**embedded_target, "schema": "s"})
    here = open_session(embedded)  # starts the Spark of this process, which has the catalog
    settings = {key: value for key, value in embedded.spark_confs("4.1.4").items() if key.startswith("spark.sql.cat")}

    def root() -> SparkSession:
        found = here.session.newSession()
        found.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
        return found

    monkeypatch.setattr(our_spark, "root", root, raising=False)
    given = profile("root", method="session", catalog=embedded.catalog, server_side_parameters=settings)
    try:
        with closing(open_own_session(given)) as opened:
            assert values(opened, "select current_timezone()") == ["Asia/Tokyo"]
            assert values(opened, f"select {embedded.catalog}.system.iceberg_version()")
    finally:
        here.close()
        session_factory.forget(f"{OURS}:root")
