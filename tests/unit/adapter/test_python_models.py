"""The code of Python models, run with a simulated session."""

from __future__ import annotations

import traceback
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.spark_iceberg.project.python_calls import key_of
from dbt.adapters.spark_iceberg.spark import python_models
from dbt.adapters.spark_iceberg.spark.python_models import PythonModel

DBT = """
class dbtObj:
    def __init__(self, load):
        self.ref = load
ip_reads = {reads!r}
batch_reads = {{}}
"""


class Session:
    """A session whose `sql` returns the text of the query."""

    def table(self, name: str) -> Any:
        return object()

    def sql(self, text: str) -> Any:
        return text


def model(body: str, reads: dict[str, Any] | None = None) -> PythonModel:
    code = f"def model(dbt, session):\n{body}\n" + DBT.format(reads=reads or {})
    unknown = lambda function: DbtRuntimeError(f"{function} is not shown")  # noqa: E731
    return PythonModel("model.shop.m", "models/m.py", code, ["ip_changes", "ip_range"], key_of, unknown)


def failure(body: str, reads: dict[str, Any] | None = None) -> str:
    with pytest.raises(DbtRuntimeError) as found:
        model(body, reads).run(Session(), lambda: None)  # type: ignore[arg-type]
    return str(found.value.msg)


def test_an_error_shows_the_lines_of_the_model():
    said = failure("    def inner(x):\n        return 1 / x\n    return inner(0)")
    assert "The code of model.shop.m failed: ZeroDivisionError: division by zero" in said
    assert "models/m.py, line 4, in model\n    return inner(0)" in said
    assert "models/m.py, line 3, in inner\n    return 1 / x" in said
    assert "python_models.py" not in said


def test_a_late_error_shows_the_line_that_caused_it(monkeypatch):
    class Late:
        """Like a DataFrame of Spark Connect, which is analyzed only when its schema is read."""

        @property
        def schema(self) -> Any:
            raise ValueError("no such column")

    session = Session()
    session.sql = lambda text: Late()
    line = traceback.FrameSummary("models/m.py", 2, "model")
    monkeypatch.setattr(python_models, "_to_spark", lambda result, *_: result)
    with pytest.raises(DbtRuntimeError) as found:
        model("    return session.sql('')").run(session, lambda: line)
    assert str(found.value.msg).endswith("no such column\n  models/m.py, line 2, in model\n    return session.sql('')")


def test_a_result_that_is_not_a_dataframe():
    assert "returned a value of type int.\n  Expected: a Spark, pandas or pandas-on-Spark DataFrame" in failure(
        "    return 1"
    )


def test_functions_return_the_captured_relations():
    reads = {key_of("ip_changes", ["a"], {}): "captured a", key_of("ip_range", ["a"], {"column": "d"}): {"min": "1"}}
    body = "    return (dbt.ip_changes(dbt.ref('a')), dbt.ip_range(dbt.ref('a'), column='d').min)"
    it = model(f"    raise ValueError(({body.split('return ')[1]}))", reads)
    with pytest.raises(DbtRuntimeError, match=r"\('select \* from captured a', '1'\)"):
        it.run(Session(), lambda: None)
    assert it.called == set(reads)


def test_a_call_that_was_not_captured():
    reads = {key_of("ip_changes", ["a"], {}): "captured a"}
    assert "ip_changes is not shown" in failure("    return dbt.ip_changes(dbt.ref('b'))", reads)
    assert "ip_changes is not shown" in failure("    return dbt.ip_changes(object())", reads)
