"""User-defined functions, in Spark's own catalog: Iceberg's hold none."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from dbt.tests.adapter.functions import files
from dbt.tests.adapter.functions.test_udfs import (
    DeterministicUDF,
    ErrorForUnsupportedType,
    NonDeterministicUDF,
    PythonUDFEntryPointRequired,
    PythonUDFNotSupported,
    PythonUDFRuntimeVersionRequired,
    SqlUDFDefaultArgSupport,
    StableUDF,
    UDFsBasic,
)
from dbt.tests.util import run_dbt_and_capture


class InSparkCatalog:
    """The functions are in Spark's own catalog. ``of_functions``: further configs."""

    of_functions: ClassVar[dict[str, Any]] = {}

    @pytest.fixture(scope="class")
    @classmethod
    def project_config_update(cls) -> dict[str, Any]:
        return {"functions": {"+database": "spark_catalog", **cls.of_functions}}


class TestUDFs(InSparkCatalog, UDFsBasic):
    pass


class TestDeterministicUDF(InSparkCatalog, DeterministicUDF):
    of_functions: ClassVar[dict[str, Any]] = {"+volatility": "deterministic"}

    def check_function_volatility(self, sql: str) -> None:
        assert "DETERMINISTIC" in sql


class TestNonDeterministicUDF(InSparkCatalog, NonDeterministicUDF):
    of_functions: ClassVar[dict[str, Any]] = {"+volatility": "non-deterministic"}

    def check_function_volatility(self, sql: str) -> None:
        assert "NOT DETERMINISTIC" in sql


class TestStableUDF(InSparkCatalog, StableUDF):
    """Spark has no such kind; a warning says so."""

    of_functions: ClassVar[dict[str, Any]] = {"+volatility": "stable"}

    def check_function_volatility(self, sql: str) -> None:
        assert "DETERMINISTIC" not in sql


class TestErrorForUnsupportedType(InSparkCatalog, ErrorForUnsupportedType):
    of_functions: ClassVar[dict[str, Any]] = {"+type": "table"}


class TestSqlUDFDefaultArgSupport(InSparkCatalog, SqlUDFDefaultArgSupport):
    expect_default_arg_support = True


class TestPythonUDFNotSupported(InSparkCatalog, PythonUDFNotSupported):
    pass


class TestPythonUDFRuntimeVersionRequired(InSparkCatalog, PythonUDFRuntimeVersionRequired):
    of_functions: ClassVar[dict[str, Any]] = {"+entry_point": "price_for_xlarge"}


class TestPythonUDFEntryPointRequired(InSparkCatalog, PythonUDFEntryPointRequired):
    of_functions: ClassVar[dict[str, Any]] = {"+runtime_version": "3.11"}


class TestInIcebergCatalog:
    @pytest.fixture(scope="class")
    @classmethod
    def functions(cls) -> dict[str, str]:
        return {"price_for_xlarge.sql": files.MY_UDF_SQL, "price_for_xlarge.yml": files.MY_UDF_YML}

    def test_an_error_says_where_a_function_can_be(self, project):
        _, log = run_dbt_and_capture(["build"], expect_pass=False)
        assert "Iceberg catalogs hold tables and views, and no functions" in log
        assert "`+database: spark_catalog`" in log
