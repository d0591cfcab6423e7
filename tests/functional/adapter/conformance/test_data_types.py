"""The names of data types, which packages build on."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.column_types.test_column_types import BasePostgresColumnTypes
from dbt.tests.adapter.utils.data_types.test_type_bigint import BaseTypeBigInt
from dbt.tests.adapter.utils.data_types.test_type_boolean import BaseTypeBoolean
from dbt.tests.adapter.utils.data_types.test_type_float import BaseTypeFloat
from dbt.tests.adapter.utils.data_types.test_type_float import seeds__expected_csv as seeds__float_csv
from dbt.tests.adapter.utils.data_types.test_type_int import BaseTypeInt
from dbt.tests.adapter.utils.data_types.test_type_int import seeds__expected_csv as seeds__int_csv
from dbt.tests.adapter.utils.data_types.test_type_numeric import BaseTypeNumeric
from dbt.tests.adapter.utils.data_types.test_type_string import BaseTypeString
from dbt.tests.adapter.utils.data_types.test_type_timestamp import BaseTypeTimestamp

COLUMN_TYPES = """
models:
  - name: model
    data_tests:
      - is_type:
          column_map:
            smallint_col: ["integer", "number"]
            int_col: ["integer", "number"]
            bigint_col: ["integer", "number"]
            float_col: ["float", "number"]
            double_col: ["float", "number"]
            numeric_col: ["numeric", "number"]
            text_col: ["string", "not number"]
            varchar_col: ["string", "not number"]
"""
COLUMNS = """
select
    cast(1 as smallint) as smallint_col,
    cast(2 as integer) as int_col,
    cast(3 as bigint) as bigint_col,
    cast(4.0 as float) as float_col,
    cast(5.0 as double) as double_col,
    cast(6.0 as decimal(10, 2)) as numeric_col,
    cast('7' as string) as text_col,
    cast('8' as varchar(20)) as varchar_col
"""


def seed(csv: str, column: str, kind: str) -> dict[str, str]:
    """The expected rows, in a different type than a seed has by default."""
    return {
        "expected.csv": csv,
        "expected.yml": f"seeds: [{{name: expected, config: {{column_types: {{{column}: {kind}}}}}}}]",
    }


class TestColumnTypes(BasePostgresColumnTypes):
    @pytest.fixture(scope="class")
    @classmethod
    def models(cls) -> dict[str, str]:
        return {"model.sql": COLUMNS, "schema.yml": COLUMN_TYPES}


class TestTypeBigInt(BaseTypeBigInt):
    pass


class TestTypeBoolean(BaseTypeBoolean):
    pass


class TestTypeFloat(BaseTypeFloat):
    @pytest.fixture(scope="class")
    @classmethod
    def seeds(cls) -> dict[str, str]:
        return seed(seeds__float_csv, "float_col", "float")


class TestTypeInt(BaseTypeInt):
    @pytest.fixture(scope="class")
    @classmethod
    def seeds(cls) -> dict[str, str]:
        return seed(seeds__int_csv, "int_col", "int")


class TestTypeNumeric(BaseTypeNumeric):
    def numeric_fixture_type(self) -> str:
        return "decimal(28,6)"


class TestTypeString(BaseTypeString):
    pass


class TestTypeTimestamp(BaseTypeTimestamp):
    pass
