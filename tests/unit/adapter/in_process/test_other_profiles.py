"""The settings of the profile that started Spark, in sessions of another profile."""

from __future__ import annotations

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.spark_iceberg.spark.in_process import session as in_process

ZONE, ENDPOINT, TOKEN = (
    "spark.sql.session.timeZone",
    "spark.hadoop.fs.s3a.endpoint",
    "spark.hadoop.fs.s3a.session.token",
)


class Session:
    """A session with the settings of Spark."""

    def __init__(self, settings):
        self.settings = dict(settings)
        self.conf = self

    def unset(self, key):
        del self.settings[key]


@pytest.fixture
def started(monkeypatch):
    settings = {ZONE: "Asia/Tokyo", "spark.driver.memory": "2g", ENDPOINT: "http://one", TOKEN: "a"}
    monkeypatch.setattr(in_process, "_started_with", settings)
    return settings


def test_settings_that_a_profile_lacks_are_reset(started):
    session = Session(started)
    in_process._reset_others(session, {ENDPOINT: "http://one"})
    assert ZONE not in session.settings and "spark.driver.memory" in session.settings
    session = Session(started)
    in_process._reset_others(session, started)
    assert session.settings == started


@pytest.mark.parametrize("wanted", [{ENDPOINT: "http://two"}, {}])
def test_another_storage_is_an_error(started, wanted):
    with pytest.raises(DbtRuntimeError, match=f"other values of {ENDPOINT}"):
        in_process._require_same_storage(wanted)


@pytest.mark.parametrize("token", ["a", "b"])
def test_the_same_storage_is_not_an_error(started, token):
    in_process._require_same_storage({ENDPOINT: "http://one", TOKEN: token})


def test_any_storage_is_accepted_if_another_program_started_spark(monkeypatch):
    monkeypatch.setattr(in_process, "_started_with", {})
    in_process._require_same_storage({ENDPOINT: "http://two"})
