"""The settings that Spark starts without, because each session sets them."""

from types import SimpleNamespace

from dbt.adapters.spark_iceberg.spark.in_process.session import settings_of_sessions

MODIFIABLE = {"spark.sql.session.timeZone", "spark.sql.catalog.lake.own"}


def test_only_settings_that_a_session_can_change_are_left_to_it():
    conf = SimpleNamespace(isModifiable=MODIFIABLE.__contains__)
    internal = SimpleNamespace(SQLConf=lambda: conf)
    spark = SimpleNamespace(sql=SimpleNamespace(internal=internal))
    gateway = SimpleNamespace(jvm=SimpleNamespace(org=SimpleNamespace(apache=SimpleNamespace(spark=spark))))
    settings = dict.fromkeys([*sorted(MODIFIABLE), "spark.sql.extensions", "spark.driver.memory"], "x")
    assert settings_of_sessions(settings, gateway) == ["spark.sql.session.timeZone"]
