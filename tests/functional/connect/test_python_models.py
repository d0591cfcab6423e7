"""Python models in a session of a Spark Connect server, with the same guarantees as SQL models."""

from __future__ import annotations

from collections import Counter

from tests.functional.incremental.test_python_models import (
    python,
    test_an_error_of_the_code_shows_its_lines_and_commits_nothing,  # noqa: F401
    test_changes_of_rows_are_merged_and_groups_replaced,  # noqa: F401
    test_integers_in_columns_with_null_stay_integers_in_pandas,  # noqa: F401
    test_new_rows_are_appended_as_by_the_same_model_in_sql,  # noqa: F401
    test_the_code_runs_once_for_new_rows_and_not_without,  # noqa: F401
    test_values_of_pandas_stay_what_they_are,  # noqa: F401
)


def test_an_error_within_a_chain_shows_the_line_that_caused_it(shop):
    python(
        shop,
        "m",
        """
        rows = session.range(3)
        other = rows.withColumnRenamed("id", "n")
        wrong = other.selectExpr("id + 1 as n")
        return wrong.select("n").join(rows.select("id"), on=None)
        """,
        materialized="table",
    )
    said = shop.fails()
    assert "The code of model.shop.m failed: AnalysisException: [UNRESOLVED_COLUMN" in said
    assert "models/m.py, line 6, in model" in said and 'other.selectExpr("id + 1 as n")' in said


KINDS = {
    "plain_pandas": """
        import pandas
        return pandas.DataFrame({"id": [1, 2], "v": [1.5, None], "name": ["a", None]})
    """,
    "pandas_on_spark": """
        import pyspark.pandas as ps
        frame = ps.DataFrame({"id": [1, 2], "v": [1.5, None], "name": ["a", None]})
        return frame[frame["id"] > 0]
    """,
    "by_functions": """
        from pyspark.sql import functions as F, types as T
        named = F.udf(lambda n: "a" if n == 1 else None, T.StringType())
        rows = session.range(1, 3).withColumn("v", F.when(F.col("id") == 1, F.lit(1.5)))
        return rows.select(F.col("id"), "v", named("id").alias("name"))
    """,
    "of_the_active_session": """
        from pyspark.sql import SparkSession
        assert SparkSession.getActiveSession() is session
        return SparkSession.active().sql("select 1L as id, 1.5D as v, 'a' as name union all select 2, null, null")
    """,
}


def test_results_of_all_kinds(shop, monkeypatch):
    monkeypatch.setenv("PYARROW_IGNORE_TIMEZONE", "1")  # pandas-on-Spark warns without it
    for name, body in KINDS.items():
        python(shop, name, body, materialized="table")
    shop.run()
    for name in KINDS:
        assert shop.rows(shop.built(name)) == Counter([(1, 1.5, "a"), (2, None, None)]), name


def test_a_pandas_frame_without_rows_has_types(shop):
    events = shop.source("events")
    body = 'return dbt.ip_changes(dbt.source("raw", "events")).toPandas().query("id > 1")'
    python(shop, "m", body)
    for value in (2, 1, 3):
        shop.insert(events, f"({value}, 'a')")
        shop.run()
    assert shop.rows(shop.built("m")) == Counter([(2, "a"), (3, "a")])


def test_a_dataframe_of_another_session_is_refused(shop):
    python(
        shop,
        "m",
        """
        from dbt.adapters.spark_iceberg.spark.connect import client
        return client.connect("sc" + session.client._builder.url.geturl().removeprefix("http")).range(3)
        """,
        materialized="table",
    )
    assert "returned a DataFrame of another Spark session" in shop.fails()


def test_the_code_of_a_model_does_not_change_pyspark(connection):
    from pyspark.sql.utils import is_remote

    with connection.active("m.py"):
        assert is_remote()
    assert not is_remote()
