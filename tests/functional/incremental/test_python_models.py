"""Python models, with checkpoints and the same guarantees as SQL models."""

from __future__ import annotations

import textwrap
from collections import Counter

import pytest

from dbt.adapters.spark_iceberg.spark.connections import SparkIcebergConnectionManager


def python(shop, name: str, body: str, **config) -> None:
    """Write a Python model. ``body``: the body of its function."""
    config = {"materialized": "iceberg_incremental_snapshot", **config}
    listed = ", ".join(f"{key}={value!r}" for key, value in config.items())
    code = textwrap.indent(textwrap.dedent(body), "    ")
    shop.write(f"models/{name}.py", f"def model(dbt, session):\n    dbt.config({listed})\n{code}")


@pytest.mark.core
def test_new_rows_are_appended_as_by_the_same_model_in_sql(shop):
    events = shop.source("events")
    names = shop.source("names", "id int, name string")
    shop.insert(events, "(1, 'a')", "(2, 'b')")
    shop.insert(names, "(1, 'one')", "(2, 'two')", "(3, 'three')")
    shop.model(
        "in_sql",
        "select id, v, name from {{ ip_changes(source('raw', 'events')) }} "
        "join {{ ip_as_of(source('raw', 'names')) }} using (id)",
    )
    python(
        shop,
        "in_python",
        """
        new = dbt.ip_changes(dbt.source("raw", "events"))
        names = dbt.ip_as_of(dbt.source("raw", "names"))
        return new.join(names, "id").select("id", "v", "name")
        """,
    )
    for action, rows in (("rebuild", []), ("nothing", []), ("apply", ["(3, 'c')", "(1, 'd')"]), ("nothing", [])):
        if rows:
            shop.insert(events, *rows)
        found = shop.run()
        assert (found.action("in_python"), found.action("in_sql")) == (action, action)
        assert shop.rows(shop.built("in_python")) == shop.rows(shop.built("in_sql"))
    assert shop.rows(shop.built("in_python"), "id, v") == Counter([(1, "a"), (2, "b"), (3, "c"), (1, "d")])
    (first, second) = (shop.checkpoint(shop.built(name)) for name in ("in_python", "in_sql"))
    assert (first["epoch"], first["sources"]) == (second["epoch"], second["sources"])


@pytest.mark.core
def test_changes_of_rows_are_merged_and_groups_replaced(shop):
    orders = shop.source("orders", "id int, customer int, amount int")
    shop.insert(orders, *(f"({n}, {n % 3}, {n})" for n in range(9)))
    python(
        shop,
        "kept",
        """
        return dbt.ip_changelog(dbt.source("raw", "orders"), unique_key="id").filter("amount <> 5")
        """,
        incremental_strategy="apply_changes",
        unique_key="id",
    )
    python(
        shop,
        "totals",
        """
        rows = dbt.ip_changed_groups(dbt.source("raw", "orders"), "customer")
        return rows.groupBy("customer").sum("amount").withColumnRenamed("sum(amount)", "amount")
        """,
        incremental_strategy="merge",
        unique_key="customer",
    )
    shop.run()
    steps = ["update {} set customer = 2, amount = 50 where id = 4", "delete from {} where customer = 0"]
    for step in steps:
        shop.sql(step.format(orders))
        found = shop.run()
        assert (found.action("kept"), found.action("totals")) == ("apply", "apply")
        assert shop.rows(shop.built("kept")) == shop.rows(f"(select * from {orders} where amount <> 5)")
        assert shop.rows(shop.built("totals")) == shop.rows(
            f"(select customer, sum(amount) from {orders} group by customer)"
        )


def test_the_code_runs_once_for_new_rows_and_not_without(shop, tmp_path):
    """The rows differ each time they are computed. The merge must delete and insert the same rows."""
    events = shop.source("events")
    shop.insert(events, "(1, 'a')", "(2, 'b')")
    python(
        shop,
        "m",
        f"""
        with open({str(tmp_path / "runs")!r}, "a") as runs:
            runs.write("x")
        from pyspark.sql.functions import expr
        return dbt.ip_changes(dbt.source("raw", "events")).withColumn("token", expr("uuid()"))
        """,
        incremental_strategy="merge",
        unique_key="id",
    )
    shop.run()
    before = dict(shop.sql(f"select id, token from {shop.built('m')}"))
    shop.run()
    shop.insert(events, "(2, 'c')", "(3, 'd')")
    shop.run()
    rows = shop.sql(f"select id, v, token from {shop.built('m')} order by id")
    assert [row[:2] for row in rows] == [(1, "a"), (2, "c"), (3, "d")]
    assert rows[0][2] == before[1] and rows[1][2] != before[2]
    assert (tmp_path / "runs").read_text() == "xx"


def test_captured_changes_must_be_read(shop):
    events = shop.source("events")
    shop.insert(events, "(1, 'a')")
    python(
        shop,
        "m",
        """
        if dbt.is_incremental and dbt.config.get("skips"):
            return session.sql("select 9 as id, 'z' as v")
        return dbt.ip_changes(dbt.source("raw", "events"))
        """,
        skips=True,
    )
    shop.run()
    shop.insert(events, "(2, 'b')")
    before = shop.snapshots(shop.built("m"))
    said = shop.fails()
    assert "The code of model.shop.m did not execute dbt.ip_changes(" in said and "events" in said
    assert shop.snapshots(shop.built("m")) == before
    shop.write("models/m.py", (shop.folder / "models/m.py").read_text().replace("skips=True", "skips=False"))
    shop.run()
    assert shop.rows(shop.built("m")) == Counter([(1, "a"), (2, "b")])


@pytest.mark.core
def test_an_error_of_the_code_shows_its_lines_and_commits_nothing(shop):
    events = shop.source("events")
    shop.insert(events, "(1, 'a')")
    python(shop, "m", 'return dbt.ip_changes(dbt.source("raw", "events")).select("missing")')
    said = shop.fails()
    assert "The code of model.shop.m failed: AnalysisException: [UNRESOLVED_COLUMN" in said
    assert "models/m.py, line 3, in model" in said and '.select("missing")' in said
    python(shop, "m", 'return dbt.ip_changes(dbt.source("raw", "events"))')
    shop.run()
    assert shop.rows(shop.built("m")) == Counter([(1, "a")])


def test_under_empty_nothing_is_committed(shop):
    events = shop.source("events")
    shop.insert(events, "(1, 'a')")
    python(shop, "m", 'return dbt.ip_changes(dbt.source("raw", "events"))')
    shop.run()
    before = shop.snapshots(shop.built("m"))
    shop.insert(events, "(2, 'b')")
    shop.run("--empty")
    assert shop.snapshots(shop.built("m")) == before
    shop.run()
    assert shop.rows(shop.built("m")) == Counter([(1, "a"), (2, "b")])


def test_pandas_and_a_session_of_another_kind(shop):
    python(
        shop,
        "frames",
        """
        import pandas
        return pandas.DataFrame({"id": [1, 2], "v": [1.5, None], "name": ["a", None]})
        """,
        materialized="table",
    )
    shop.run()
    assert shop.rows(shop.built("frames")) == Counter([(1, 1.5, "a"), (2, None, None)])
    python(shop, "frames", "return session.newSession().range(3)", materialized="table")
    assert "returned a DataFrame of another Spark session" in shop.fails()


BIG = 9007199254740993
INTEGERS = """
    select * from values
        ({big}L, smallint(1), array({big}L, null), named_struct('x', {big}L), map('k', {big}L), 1, {big}L),
        (null, null, null, named_struct('x', bigint(null)), map('k', bigint(null)), null, -{big}L)
    as t(big, small, many, nested, named, n, full)
"""
TO_PANDAS = {
    "by_spark": "frame = rows.toPandas()",
    "by_pandas_on_spark": """
        import warnings
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on the size of the frame, and on its index
            frame = rows.pandas_api().to_pandas()
    """,
    "by_a_merge": """
        frame = rows.toPandas()
        frame = frame.merge(frame[["n"]].dropna(), on="n", how="left")
    """,
}
RETURNED = """
import pandas
frame["nested"] = pandas.Series([each["x"] for each in frame["nested"]], dtype="object")
frame["named"] = pandas.Series([each["k"] for each in frame["named"]], dtype="object")
return frame
"""


def test_integers_in_columns_with_null_stay_integers_in_pandas(shop, monkeypatch):
    """Spark's own toPandas() returns such a column as doubles, which cannot represent the number."""
    monkeypatch.setenv("PYARROW_IGNORE_TIMEZONE", "1")  # pandas-on-Spark warns without it
    shop.model("integers", INTEGERS.format(big=BIG), materialized="table")
    for name, code in TO_PANDAS.items():
        body = f'rows = dbt.ref("integers")\n{textwrap.dedent(code)}{RETURNED}'
        python(shop, name, body, materialized="table")
    python(
        shop,
        "lost",
        """
        frame = dbt.ref("integers").toPandas()[["n", "full"]]
        return frame[["n"]].merge(frame.dropna(), on="n", how="left")
        """,
        materialized="table",
    )
    assert "whose integers have become doubles: full." in shop.fails()
    (shop.folder / "models/lost.py").unlink()
    shop.run()
    for name in TO_PANDAS:
        assert shop.sql(f"select * from {shop.built(name)} order by n nulls last") == [
            (BIG, 1, [BIG, None], BIG, BIG, 1, BIG),
            (None, None, None, None, None, None, -BIG),
        ], name
        kinds = [row[1] for row in shop.sql(f"describe {shop.built(name)}")]
        assert kinds == ["bigint", "int", "array<bigint>", "bigint", "bigint", "int", "bigint"], name


@pytest.mark.core
def test_values_of_pandas_stay_what_they_are(shop):
    """Categories, and times in columns of any kind."""
    shop.configure({"spark.sql.session.timeZone": "Asia/Tokyo"})
    python(
        shop,
        "frames",
        """
        import datetime
        import pandas
        noon = datetime.datetime(2026, 7, 1, 12)
        frame = pandas.DataFrame({"id": [1, 2]}, index=[7, 7])
        frame["color"] = pandas.Categorical(["red", None], categories=["blue", "red"])
        frame["day"] = pandas.Categorical([pandas.Timestamp(noon), None])
        frame["local"] = pandas.Series([noon, None], index=[7, 7], dtype="datetime64[ns]")
        frame["thing"] = pandas.Series([noon, None], index=[7, 7], dtype="object")
        frame["zoned"] = frame["local"].dt.tz_localize("UTC")
        return frame
        """,
        materialized="table",
    )
    shop.run()
    columns = "id, color, " + ", ".join(f"unix_seconds({name})" for name in ("day", "local", "thing", "zoned"))
    noon_there, noon = 1782874800, 1782907200
    assert shop.rows(shop.built("frames"), columns) == Counter(
        [(1, "red", noon_there, noon_there, noon_there, noon), (2, None, None, None, None, None)]
    )


def test_categories_of_pandas_on_spark_are_refused(shop, monkeypatch):
    monkeypatch.setenv("PYARROW_IGNORE_TIMEZONE", "1")  # pandas-on-Spark warns without it
    body = """
        import pandas
        from pyspark import pandas as ps
        return ps.from_pandas(pandas.DataFrame({"id": [1, 2], "color": pandas.Categorical(["red", None])}))"""
    python(shop, "frames", body, materialized="table")
    assert "with categorical columns: color." in shop.fails()
    python(shop, "frames", body.replace("pandas.Categorical", ""), materialized="table")
    shop.run()
    assert shop.rows(shop.built("frames")) == Counter([(1, "red"), (2, None)])


def test_a_batch_reads_its_own_rows_of_a_model(shop):
    days = ", ".join(f"({n}, timestamp'2026-01-0{n} 10:00:00')" for n in range(1, 4))
    shop.model("days", f"select * from values {days} as given(id, at)", materialized="table", event_time="at")
    batches = {"batch_size": "day", "begin": "2026-01-01", "event_time": "at"}
    python(
        shop,
        "m",
        'return dbt.ref("days")',
        materialized="incremental",
        incremental_strategy="microbatch",
        **batches,
    )
    window = ("--event-time-start", "2026-01-01", "--event-time-end", "2026-01-04")
    for _ in range(2):
        shop.run(*window)
        assert shop.rows(shop.built("m"), "id") == Counter([(1,), (2,), (3,)])


def test_a_thrift_server_runs_no_python_models(shop, monkeypatch):
    monkeypatch.setattr(SparkIcebergConnectionManager, "own_session", lambda self: None)
    python(shop, "m", "return session.range(1)", materialized="table")
    assert "is a Python model, which" in shop.fails()


@pytest.mark.parametrize(
    ("config", "said"), [({}, "its code captures no source"), ({"materialized": "table"}, "was called in")]
)
def test_calls_that_do_not_fit_the_materialization(shop, config, said):
    shop.source("events")
    body = "return session.range(1)" if not config else 'return dbt.ip_changes(dbt.source("raw", "events"))'
    python(shop, "m", body, **config)
    assert said in shop.fails()
