"""The lines of a Python model that created DataFrames.

Spark Connect analyzes a DataFrame when its columns or rows are requested, so an error is raised in a later line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from traceback import FrameSummary
from types import FrameType

from pyspark.errors import AnalysisException
from pyspark.sql.connect.dataframe import DataFrame


@contextmanager
def noted(file: str) -> Iterator[Callable[[], FrameSummary | None]]:
    """Record the DataFrames that the code of a file creates in the block. Supports one file at a time.

    Yields a function that returns the line of the first DataFrame that Spark rejects, or None.
    """
    made: list[tuple[DataFrame, FrameSummary]] = []
    plain = DataFrame.__init__

    def noting(self: DataFrame, *args: object, **named: object) -> None:
        plain(self, *args, **named)  # type: ignore[arg-type]
        if place := _place(file):
            made.append((self, place))

    def refused() -> FrameSummary | None:
        return next((place for frame, place in made if not _is_accepted(frame)), None)

    DataFrame.__init__ = noting  # type: ignore[method-assign]
    try:
        yield refused
    finally:
        DataFrame.__init__ = plain  # type: ignore[method-assign]


def _place(file: str) -> FrameSummary | None:
    """The current line of a file's code, in the innermost function. None if none of its code is running."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_filename != file:
        frame = frame.f_back
    return None if frame is None else FrameSummary(file, frame.f_lineno, frame.f_code.co_name)


def _is_accepted(frame: DataFrame) -> bool:
    try:
        frame.schema  # noqa: B018 (this analyzes the DataFrame)
    except AnalysisException:
        return False
    return True
