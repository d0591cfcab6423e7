"""Python models: their code runs in this process, with the Spark session of their connection.

The compiled code is the user's text, whose line numbers do not change, followed by the class ``dbtObj``; by
``ip_reads``, the results of the methods of ``dbt``; and by ``batch_reads``, the relations of ``dbt.ref()`` in a batch.
"""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from dbt_common.exceptions import DbtRuntimeError

from ..as_dbt import dbt_error
from .exact_pandas import EXACT
from .messages import describe

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Given = str | Mapping[str, Any]
"""The result of a method of ``dbt``: the SQL of a relation, or values."""


@dataclass
class PythonModel:
    """A compiled model. ``file``: its path in the project.

    ``functions``: the methods of ``dbt`` other than ``ref`` and ``source``. ``key_of``: returns the identity of a call
    from its name, positional and named arguments. ``unknown``: returns the error for a call that was not found in the
    text. ``reads``: the results of the calls, by key. ``called``: the keys of the calls that the code has executed.
    """

    name: str
    file: str
    code: str
    functions: Sequence[str]
    key_of: Callable[[str, Sequence[Any], Mapping[str, Any]], str]
    unknown: Callable[[str], DbtRuntimeError]
    reads: Mapping[str, Given] = field(default_factory=dict)
    called: set[str] = field(default_factory=set)

    def run(self, session: SparkSession, refused: Callable[[], traceback.FrameSummary | None]) -> DataFrame:
        """Run ``model(dbt, session)``. Returns its result as a DataFrame of this session, with known columns.

        ``refused``: returns the line whose DataFrame Spark rejects, if the error is not raised in that line itself.
        Raises DbtRuntimeError with the lines of the model if its code fails, and for another kind of result.
        """
        # Definitions in the module __main__ are sent to executors by value, as in a notebook.
        namespace: dict[str, Any] = {"__name__": "__main__", "__file__": self.file, "spark": session}
        relations = _LoadedRelations(session)
        try:
            exec(compile(self.code, self.file, "exec"), namespace)  # noqa: S102 (the project's own code)
            self.reads = namespace["ip_reads"]
            relations.batch = namespace["batch_reads"]
            dbt = namespace["dbtObj"](relations.load)
            for function in self.functions:
                setattr(dbt, function, partial(self._read, relations, function))
            returned = namespace["model"](dbt, session)
            self._require_exact(returned, relations)
            result = _to_spark(returned, session, self.name)
            result.schema  # noqa: B018 (Spark Connect analyzes a DataFrame only when its columns are requested)
        except DbtRuntimeError:
            raise
        except Exception as error:
            raise self._failed(error, refused) from error
        if not _same(result.sparkSession, session):
            raise dbt_error(
                f"{self.name} returned a DataFrame of another Spark session.",
                expected="one that was created with the `session` of model(dbt, session), or by dbt.ref().",
                fix="use this session instead of one from SparkSession.builder.",
            )
        return result

    def _read(self, relations: _LoadedRelations, function: str, *positional: Any, **named: Any) -> Any:
        """The result of a method of ``dbt``: a DataFrame, or values."""
        arguments = {name: relations.name_of(value) for name, value in named.items()}
        key = self.key_of(function, [relations.name_of(value) for value in positional], arguments)
        if key not in self.reads:
            raise self.unknown(function)
        self.called.add(key)
        given = self.reads[key]
        if isinstance(given, str):
            return relations.read(given)
        return SimpleNamespace(**given)

    def _require_exact(self, result: Any, relations: _LoadedRelations) -> None:
        """Raise DbtRuntimeError for integers in a pandas DataFrame that are too large for the doubles they became.

        pandas converts integers if a join or another operation adds missing values.
        """
        large = [str(name) for name in _large_doubles(result)]
        integers = relations.integers() if large else frozenset()
        if rounded := [name for name in large if name.lower() in integers]:
            raise dbt_error(
                f"{self.name} returned a pandas DataFrame whose integers have become doubles: {', '.join(rounded)}.",
                expected="integers, as in the relations that the model reads. A double does not hold every integer "
                f"beyond {EXACT}, so values may have changed.",
                fix="use pandas' nullable integers before a merge or another operation that adds missing values: "
                f"frame = frame.astype({{'{rounded[0]}': 'Int64'}}).",
            )

    def _failed(self, error: Exception, refused: Callable[[], traceback.FrameSummary | None]) -> DbtRuntimeError:
        lines = self.code.splitlines()
        frames = [each for each in traceback.extract_tb(error.__traceback__) if each.filename == self.file]
        if not frames and (place := refused()):
            frames = [place]
        shown = "".join(
            f"\n  {self.file}, line {each.lineno}, in {each.name}\n    {lines[(each.lineno or 1) - 1].strip()}"
            for each in frames
        )
        return DbtRuntimeError(f"The code of {self.name} failed: {type(error).__name__}: {describe(error)}{shown}")


class _LoadedRelations:
    """The relations that a model's code has loaded. ``batch``: the SQL that replaces some relations, by name."""

    def __init__(self, session: SparkSession) -> None:
        self.session = session
        self.batch: Mapping[str, str] = {}
        self._loaded: list[tuple[DataFrame, str]] = []
        self._read: list[DataFrame] = []

    def load(self, name: str) -> DataFrame:
        """The DataFrame for ``dbt.ref`` and ``dbt.source``."""
        read = self.batch.get(name, name)
        # With --empty and --sample, and in a batch, dbt passes a source as a subquery.
        frame = self.session.sql(f"select * from {read}") if read.startswith("(") else self.session.table(read)
        self._loaded.append((frame, name))
        return frame

    def read(self, sql: str) -> DataFrame:
        """The DataFrame for another method of ``dbt``."""
        frame = self.session.sql(f"select * from {sql}")
        self._read.append(frame)
        return frame

    def integers(self) -> frozenset[str]:
        """The integer columns of all loaded relations, by name in lower case."""
        from pyspark.sql.types import IntegralType

        frames = [*self._read, *(frame for frame, _ in self._loaded)]
        fields = [field for frame in frames for field in frame.schema.fields]
        return frozenset(field.name.lower() for field in fields if isinstance(field.dataType, IntegralType))

    def name_of(self, value: Any) -> Any:
        """The name of a loaded relation, or of each one in a list. Other values are returned unchanged."""
        if isinstance(value, (list, tuple)):
            return [self.name_of(each) for each in value]
        return next((name for frame, name in self._loaded if frame is value), value)


def _to_spark(result: Any, session: SparkSession, model: str) -> DataFrame:
    """Convert a model's result to a Spark DataFrame. The index of a pandas DataFrame is dropped.

    ``result``: a DataFrame of Spark, pandas or pandas-on-Spark. Raises DbtRuntimeError for other types.
    """
    from pyspark.sql import DataFrame

    if isinstance(result, DataFrame):
        return result
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(result, pandas.DataFrame):
        return _from_pandas(result, session)
    if callable(getattr(result, "to_spark", None)):
        return _from_pandas_on_spark(result, model)
    kind = type(result)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    raise dbt_error(
        f"model(dbt, session) returned a value of type {module}{kind.__name__}.",
        expected="a Spark, pandas or pandas-on-Spark DataFrame.",
        fix="return the rows of the model's table as one of these.",
    )


def _large_doubles(result: Any) -> list[Any]:
    """The columns of doubles in a pandas DataFrame that contain a number too large to be an exact integer."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(result, pandas.DataFrame):
        return []
    doubles = result.select_dtypes("float64")
    return [name for name, column in doubles.items() if ((column.abs() >= EXACT) & (column.abs() <= 2**63)).any()]


def _from_pandas(frame: Any, session: SparkSession) -> DataFrame:
    """Convert with Arrow, which preserves pandas values best. NaN becomes NULL, and a category becomes its value."""
    from pyspark.sql.pandas.types import from_arrow_schema

    try:
        import pyarrow
    except ImportError as error:
        raise dbt_error(
            f"PyArrow, which converts pandas DataFrames for Spark, cannot be imported: {error}",
            fix="pip install 'pandas>=2.2,<3' pyarrow, or return session.createDataFrame(…).",
        ) from error
    plain = frame.copy(deep=False)
    plain.attrs = {}  # PyArrow warns about attributes of Spark Connect's toPandas()
    table = pyarrow.Table.from_pandas(plain, preserve_index=False)
    # Spark Connect cannot infer the types of empty columns.
    without_zone = session.conf.get("spark.sql.timestampType") == "TIMESTAMP_NTZ"
    return session.createDataFrame(table, from_arrow_schema(table.schema, prefer_timestamp_ntz=without_zone))


def _from_pandas_on_spark(frame: Any, model: str) -> DataFrame:
    """Convert a pandas-on-Spark DataFrame.

    Raises DbtRuntimeError for a categorical column, because Spark stores only the numbers of its categories.
    """
    if codes := [str(name) for name, kind in frame.dtypes.items() if str(kind) == "category"]:
        raise dbt_error(
            f"{model} returned a pandas-on-Spark DataFrame with categorical columns: {', '.join(codes)}.",
            expected="columns of values. In Spark, these columns contain only the category codes.",
            fix="return the columns without .astype('category'), or return frame.to_pandas().",
        )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "If `index_col` is not specified for `to_spark`")
        converted: DataFrame = frame.to_spark()
    return converted


def _same(one: SparkSession, other: SparkSession) -> bool:
    """Whether two Python objects represent the same Spark session."""
    if one is other:
        return True
    inner, outer = (getattr(each, "_jsparkSession", None) for each in (one, other))
    return inner is not None and outer is not None and bool(inner.equals(outer))
