"""Settings of a server's session, which runs set and restore."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dbt.adapters.spark_iceberg.spark.port import DbtSpark
from iceberg_incremental.spark.port import under

OVERWRITE, SUMMARY = "spark.sql.sources.partitionOverwriteMode", "spark.sql.iceberg.snapshot-property.ip.checkpoint"


class Server:
    """The session of a server, whose RESET removes a setting."""

    def __init__(self):
        self.settings = {}
        self.sent = []

    def execute(self, sql, auto_begin, fetch):
        self.sent.append(sql)
        verb, _, rest = sql.partition(" ")
        key, _, value = (each.strip("`") for each in rest.partition(" = "))
        if verb == "RESET":
            self.settings.pop(key, None)
        elif value:
            self.settings[key] = value
        return None, SimpleNamespace(rows=[(key, self.settings.get(key, "<undefined>"))])

    @property
    def spark(self):
        return DbtSpark(self, SimpleNamespace(own_session=lambda: None))


@pytest.mark.parametrize("before", [None, "dynamic", "*********(redacted)"])
def test_a_setting_gets_back_the_value_that_a_hook_or_the_profile_set(before):
    server = Server()
    server.settings |= {} if before is None else {OVERWRITE: before}
    with under(server.spark, {OVERWRITE: "static"}):
        assert server.settings == {OVERWRITE: "static"}
    assert server.settings == ({OVERWRITE: "dynamic"} if before == "dynamic" else {})


def test_a_summary_property_is_removed_without_further_statements():
    server = Server()
    with under(server.spark, {SUMMARY: "{}"}):
        assert server.settings == {SUMMARY: "{}"}
    assert (server.settings, len(server.sent)) == ({}, 2)
