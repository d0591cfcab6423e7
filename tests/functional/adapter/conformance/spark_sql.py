"""Translates the SQL that dbt-tests-adapter's tests send from PostgreSQL to Spark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest

from iceberg_incremental.sql import statements

_WORDS = (
    (re.compile(r"\b(text|varchar\(\d+\))(?![\w.])", re.IGNORECASE), "string"),
    (re.compile(r"\bwithout time zone\b", re.IGNORECASE), ""),
    # a default of an added column, which format v2 does not support
    (re.compile(r"(add column \w+ string) default ('\w*'|null)", re.IGNORECASE), r"\1"),
    # an INSERT in Spark does not convert text to a date or timestamp
    (re.compile(r"('\d{4}-\d\d-\d\d \d\d:\d\d:\d\d')"), r"timestamp \1"),
    # this test relies on the order in which PostgreSQL returns rows
    (re.compile(r"(select id, test_scd_id, test_valid_to from \S+)$"), r"\1 order by id, test_valid_to"),
    (re.compile(r"(?<!date )('\d{4}-\d\d-\d\d')"), r"date \1"),
)


def of_spark(sql: str) -> list[str]:
    """The statements of a text, translated to Spark's SQL."""
    for words, ours in _WORDS:
        sql = words.sub(ours, sql)
    return statements(sql.replace('"', "`"))


class InSparkSql:
    """A class whose tests send SQL of PostgreSQL. It is translated."""

    @pytest.fixture(scope="class")
    @classmethod
    def project(cls, project: Any) -> Iterator[Any]:
        adapter = type(project.adapter)  # each dbt command has its own instance
        send = adapter.run_sql_for_tests

        def send_translated(self: Any, sql: str, fetch: Any, connection: Any) -> Any:
            return [send(self, statement, fetch, connection) for statement in of_spark(sql)][-1]

        with mock.patch.object(adapter, "run_sql_for_tests", send_translated):
            yield project
