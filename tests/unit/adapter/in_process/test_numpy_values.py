"""PySpark's conversion of NumPy values."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from dbt.adapters.spark_iceberg.spark.in_process.session import OnlyNumpy, convert_only_numpy

PROGRAM = """
import sys
from py4j import protocol
from dbt.adapters.spark_iceberg.spark.in_process.session import convert_only_numpy
import pyspark.sql
convert_only_numpy()
convert_only_numpy()
assert not any(each.can_convert("text") for each in protocol.INPUT_CONVERTER)
print(sorted({"pandas", "pyarrow"} & sys.modules.keys()))
"""


@pytest.fixture
def converters(monkeypatch):
    from py4j import protocol
    from pyspark.sql import types

    known = [types.DateConverter(), types.NumpyScalarConverter(), types.NumpyArrayConverter()]
    monkeypatch.setattr(protocol, "INPUT_CONVERTER", known)
    convert_only_numpy()
    return known


def test_other_values_import_no_pandas():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


class Degrees(np.ndarray):
    """A type of another module, whose values are NumPy's."""


def test_numpy_values_are_converted_as_before(converters):
    assert [type(each) for each in converters[1:]] == [OnlyNumpy, OnlyNumpy]
    scalar, array = converters[1:]
    assert scalar.can_convert(np.int64(3)) and scalar.convert(np.int64(3), None) == 3
    assert scalar.can_convert(np.float32(0.5)) and not scalar.can_convert(0.5)
    assert array.can_convert(np.array([1, 2])) and not array.can_convert([1, 2])
    assert array.can_convert(np.array([1.5]).view(Degrees))
    assert not array.can_convert(np.array([[1], [2]]))
