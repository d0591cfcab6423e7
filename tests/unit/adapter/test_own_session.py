"""PySpark's own output is suppressed, and its errors are shortened."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from dbt_common.exceptions import DbtRuntimeError
from pyspark.errors import AnalysisException, IllegalArgumentException

from dbt.adapters.spark_iceberg.spark.own_session import configure, quiet_loggers


@pytest.mark.parametrize("kind", ["SQL", "DataFrame"])
def test_an_error_is_not_printed_as_json(kind, monkeypatch, capfd):
    context = SimpleNamespace(
        contextType=lambda: SimpleNamespace(name=kind), callSite=lambda: "models/m.py:3", fragment=lambda: "col"
    )
    monkeypatch.setattr(AnalysisException, "getQueryContext", lambda self: [context])
    quiet_loggers()
    AnalysisException("no such column")._log_exception()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("key", ["spark.sql.shuffle.partitions"])
def test_a_setting_that_spark_rejects_is_named_without_a_stack_trace(key):
    class Conf:
        def set(self, key, value):
            raise IllegalArgumentException(
                f"The value in {key} is invalid.\n\nJVM stacktrace:\n\tat org.apache.spark.X(Y)"
            )

    with pytest.raises(DbtRuntimeError, match=f"Spark rejects the value of {key}") as found:
        configure(SimpleNamespace(conf=Conf()), {key: "many"}, {})
    assert "To fix: correct the value in profiles.yml." in found.value.msg and "\tat " not in found.value.msg
