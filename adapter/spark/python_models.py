"""Models in Python: their code runs in this process, on the Spark session of their connection.

dbt gives the code as it was compiled: the user's text, so that line numbers stay, and below it the class ``dbtObj``,
``ip_reads``, which is what the functions of ``dbt`` give, and ``batch_reads``, what ``dbt.ref()`` reads in a batch.
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

from .exact_pandas import EXACT
from .messages import describe

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Given = str | Mapping[str, Any]
"""What stands for a call of a function of ``dbt``: SQL of a relation, or values."""


@dataclass
class PythonModel:
    """A compiled model. ``file``: its path in the project.

    ``functions``: the names of those that ``dbt`` has beside ``ref`` and ``source``. ``key_of``: what tells a call of
    one from others: its name, positional and named arguments. ``unknown``: the error for a call that the text does not
    show. ``reads``: what the calls give, by their keys; ``called``: those that the code has come to.
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
        """Run ``model(dbt, session)``; its result as a DataFrame of this session, whose columns are known.

        ``refused``: finds the line whose DataFrame Spark refuses, where an error does not come from the line itself.
        Raises DbtRuntimeError with the lines of the model where its code fails, and for a result of another kind.
        """
        # As in a notebook: what the code defines is sent to executors by value, with it.
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
            result.schema  # noqa: B018 (Spark Connect looks at a DataFrame when it is asked for more of it)
        except DbtRuntimeError:
            raise
        except Exception as error:
            raise self._failed(error, refused) from error
        if not _same(result.sparkSession, session):
            raise DbtRuntimeError(
                f"{self.name} returned a DataFrame of another Spark session.\n"
                "  Expected: one that was created with the `session` of model(dbt, session), or by dbt.ref().\n"
                "  To fix: use this session instead of one from SparkSession.builder."
            )
        return result

    def _read(self, relations: _LoadedRelations, function: str, *positional: Any, **named: Any) -> Any:
        """What a function of ``dbt`` gives: a DataFrame, or values."""
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
        """Raise DbtRuntimeError for doubles in a pandas DataFrame that have been integers, and are too large for that.

        pandas makes them doubles where a join or another operation leaves values out.
        """
        large = [str(name) for name in _large_doubles(result)]
        integers = relations.integers() if large else frozenset()
        if rounded := [name for name in large if name.lower() in integers]:
            raise DbtRuntimeError(
                f"{self.name} returned a pandas DataFrame whose integers have become doubles: {', '.join(rounded)}.\n"
                "  Expected: integers, as in the relations that the model reads. A double does not hold every integer "
                f"beyond {EXACT}, so values may have changed.\n"
                "  To fix: use pandas' nullable integers before a merge or another operation that adds missing "
                f"values: frame = frame.astype({{'{rounded[0]}': 'Int64'}})."
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
    """The relations that a model's code has loaded. ``batch``: what is read in place of some, by their names."""

    def __init__(self, session: SparkSession) -> None:
        self.session = session
        self.batch: Mapping[str, str] = {}
        self._loaded: list[tuple[DataFrame, str]] = []
        self._read: list[DataFrame] = []

    def load(self, name: str) -> DataFrame:
        """A relation as ``dbt.ref`` and ``dbt.source`` give it."""
        read = self.batch.get(name, name)
        # Under --empty and --sample, and in a batch, dbt gives a source as a sub-query.
        frame = self.session.sql(f"select * from {read}") if read.startswith("(") else self.session.table(read)
        self._loaded.append((frame, name))
        return frame

    def read(self, sql: str) -> DataFrame:
        """A relation as a function of ``dbt`` gives it."""
        frame = self.session.sql(f"select * from {sql}")
        self._read.append(frame)
        return frame

    def integers(self) -> frozenset[str]:
        """The columns of integers that any of the relations has, by their names in lower case."""
        from pyspark.sql.types import IntegralType

        frames = [*self._read, *(frame for frame, _ in self._loaded)]
        fields = [field for frame in frames for field in frame.schema.fields]
        return frozenset(field.name.lower() for field in fields if isinstance(field.dataType, IntegralType))

    def name_of(self, value: Any) -> Any:
        """The name of a relation that was loaded, also in a list; any other value as it is."""
        if isinstance(value, (list, tuple)):
            return [self.name_of(each) for each in value]
        return next((name for frame, name in self._loaded if frame is value), value)


def _to_spark(result: Any, session: SparkSession, model: str) -> DataFrame:
    """A result as Spark's DataFrame: it may be one, or one of pandas or pandas-on-Spark, whose index is left out."""
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
    raise DbtRuntimeError(
        f"model(dbt, session) returned a value of type {module}{kind.__name__}.\n"
        "  Expected: a DataFrame of Spark, pandas or pandas-on-Spark.\n"
        "  To fix: return the rows of the model's table as one of these."
    )


def _large_doubles(result: Any) -> list[Any]:
    """The columns of doubles of a pandas DataFrame that have a whole number which a double may hold for another."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(result, pandas.DataFrame):
        return []
    doubles = result.select_dtypes("float64")
    return [name for name, column in doubles.items() if ((column.abs() >= EXACT) & (column.abs() <= 2**63)).any()]


def _from_pandas(frame: Any, session: SparkSession) -> DataFrame:
    """By Arrow, which knows best what values of pandas are: NaN is NULL, and a category what it stands for."""
    from pyspark.sql.pandas.types import from_arrow_schema

    try:
        import pyarrow
    except ImportError as error:
        raise DbtRuntimeError(
            f"PyArrow, which converts pandas DataFrames for Spark, cannot be imported: {error}\n"
            "  To fix: pip install 'dbt-spark-iceberg[pandas]', or return session.createDataFrame(…)."
        ) from error
    plain = frame.copy(deep=False)
    plain.attrs = {}  # what Spark Connect's toPandas() leaves there, PyArrow warns of
    table = pyarrow.Table.from_pandas(plain, preserve_index=False)
    # Spark Connect finds no types where there are no rows.
    without_zone = session.conf.get("spark.sql.timestampType") == "TIMESTAMP_NTZ"
    return session.createDataFrame(table, from_arrow_schema(table.schema, prefer_timestamp_ntz=without_zone))


def _from_pandas_on_spark(frame: Any, model: str) -> DataFrame:
    """Raises DbtRuntimeError for a categorical column: what Spark has of it are the numbers of its categories."""
    if codes := [str(name) for name, kind in frame.dtypes.items() if str(kind) == "category"]:
        raise DbtRuntimeError(
            f"{model} returned a pandas-on-Spark DataFrame with categorical columns: {', '.join(codes)}.\n"
            "  Expected: columns of values. In Spark, these columns contain only the numbers of the categories.\n"
            "  To fix: return the columns without .astype('category'), or return frame.to_pandas()."
        )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "If `index_col` is not specified for `to_spark`")
        converted: DataFrame = frame.to_spark()
    return converted


def _same(one: SparkSession, other: SparkSession) -> bool:
    """Whether two objects of Python stand for one session of Spark."""
    if one is other:
        return True
    inner, outer = (getattr(each, "_jsparkSession", None) for each in (one, other))
    return inner is not None and outer is not None and bool(inner.equals(outer))
