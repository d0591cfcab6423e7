"""The user's own sessions, which profiles name as ``session_factory``."""

from __future__ import annotations

import os
from typing import Any

from pyspark.sql.connect.client import DefaultChannelBuilder
from pyspark.sql.connect.session import SparkSession

REMOTE = "OUR_SPARK_REMOTE"
calls: list[Any] = []


class OwnChannel(DefaultChannelBuilder):
    """A channel that a vendor's client creates in its own way, without the client's interceptors."""

    def toChannel(self) -> Any:  # noqa: N802 (the name in PySpark)
        return DefaultChannelBuilder(os.environ[REMOTE]).toChannel()


def session() -> Any:
    """A session with a setting and a session id of its own."""
    opened = SparkSession(OwnChannel(os.environ[REMOTE]))
    opened.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    calls.append(opened)
    return opened


def fails() -> Any:
    raise OSError("no token")


def text() -> str:
    return "a session"


NUMBER = 1
