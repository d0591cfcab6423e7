"""PySpark's conversion of NumPy values, without the import of pandas for all other values."""

from __future__ import annotations

from typing import Any


class OnlyNumpy:
    """One of PySpark's converters for py4j, which is asked only about values of NumPy's types.

    It is otherwise asked about each argument of a Java method. To know whether NumPy is installed, it imports pandas,
    which takes a third of a second (PySpark 4.1.4).
    """

    def __init__(self, converter: Any) -> None:
        self._converter = converter

    def can_convert(self, value: object) -> bool:
        """Whether the converter converts a value."""
        types = type(value).__mro__
        is_numpy = any(str(each.__module__).partition(".")[0] == "numpy" for each in types)
        return is_numpy and bool(self._converter.can_convert(value))

    def convert(self, value: object, client: Any) -> Any:
        """The value for py4j."""
        return self._converter.convert(value, client)


def convert_only_numpy() -> None:
    """Let PySpark's converters of NumPy values ignore all other values. Calls after the first one have no effect."""
    from py4j import protocol
    from pyspark.sql import types

    theirs = (types.NumpyScalarConverter, types.NumpyArrayConverter)
    known = protocol.INPUT_CONVERTER
    known[:] = [OnlyNumpy(each) if isinstance(each, theirs) else each for each in known]
