"""User-defined functions, in Spark's own catalog. Iceberg catalogs cannot contain functions."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from dbt.tests.adapter.functions import files
from dbt.tests.adapter.functions.test_udfs import (
    ErrorForUnsupportedType,
    PythonUDFEntryPointRequired,
    PythonUDFNotSupported,
    PythonUDFRuntimeVersionRequired,
)
from dbt.tests.util import run_dbt, run_dbt_and_capture


class InSparkCatalog:
    """The functions are in Spark's own catalog. ``of_functions``: further configs."""

    of_functions: ClassVar[dict[str, Any]] = {}

    @pytest.fixture(scope="class")
    @classmethod
    def project_config_update(cls) -> dict[str, Any]:
        return {"functions": {"+database": "spark_catalog", **cls.of_functions}}


class TestErrorForUnsupportedType(InSparkCatalog, ErrorForUnsupportedType):
    of_functions: ClassVar[dict[str, Any]] = {"+type": "table"}


class TestPythonUDFNotSupported(InSparkCatalog, PythonUDFNotSupported):
    pass


class TestPythonUDFRuntimeVersionRequired(InSparkCatalog, PythonUDFRuntimeVersionRequired):
    of_functions: ClassVar[dict[str, Any]] = {"+entry_point": "price_for_xlarge"}


class TestPythonUDFEntryPointRequired(InSparkCatalog, PythonUDFEntryPointRequired):
    of_functions: ClassVar[dict[str, Any]] = {"+runtime_version": "3.11"}


ANSWER = """
functions:
  - name: answer
    returns: {data_type: int}
"""


class TestFunctions:
    """dbt's own functions have an argument. Iceberg's extension of Spark's SQL cannot parse that."""

    @pytest.fixture(scope="class")
    @classmethod
    def functions(cls) -> dict[str, str]:
        return {
            "price_for_xlarge.sql": files.MY_UDF_SQL,
            "price_for_xlarge.yml": files.MY_UDF_YML,
            "answer.sql": "select 42",
            "answer.yml": ANSWER,
        }

    @pytest.fixture(scope="class")
    @classmethod
    def project_config_update(cls) -> dict[str, Any]:
        return {"functions": {"+database": "{{ var('catalog', 'spark_catalog') }}", "+volatility": "deterministic"}}

    def test_a_function_without_arguments_is_built_in_sparks_catalog(self, project):
        catalog = ["--vars", "{catalog: spark_catalog}"]
        run_dbt(["build", "--select", "answer", *catalog])
        found = run_dbt(["show", "--inline", "select {{ function('answer') }}()", *catalog])
        assert int(found.results[0].agate_table.rows[0].values()[0]) == 42

    @pytest.mark.parametrize(
        ("catalog", "said"),
        [
            ("lakehouse", "Iceberg catalogs have tables and views, but no functions"),
            ("spark_catalog", "Iceberg's SQL extensions cannot parse"),
        ],
    )
    def test_an_error_states_what_is_not_possible(self, project, catalog, said):
        build = ["build", "--select", "price_for_xlarge", "--vars", f"{{catalog: {catalog}}}"]
        _, log = run_dbt_and_capture(build, expect_pass=False)
        assert said in log
