"""Stored failures of tests, and unit tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from dbt.tests.adapter.store_test_failures_tests import basic
from dbt.tests.adapter.store_test_failures_tests.test_store_test_failures import (
    TEST_AUDIT_SCHEMA_SUFFIX,
    BaseStoreTestFailures,
    BaseStoreTestFailuresLimit,
)
from dbt.tests.adapter.unit_testing.test_case_insensitivity import BaseUnitTestCaseInsensivity
from dbt.tests.adapter.unit_testing.test_invalid_input import BaseUnitTestInvalidInput
from dbt.tests.adapter.unit_testing.test_quoted_reserved_word_column_names import (
    BaseUnitTestQuotedReservedWordColumnNames,
    my_model_sql,
)
from dbt.tests.adapter.unit_testing.test_quoted_reserved_word_column_names import (
    test_my_model_csv_fixtures_yml as csv_fixtures_yml,
)
from dbt.tests.adapter.unit_testing.test_types import BaseUnitTestingTypes, BaseUnitTestingVarcharFixtureNoTruncation


class AuditSchema:
    @pytest.fixture(autouse=True)
    @classmethod
    def drop_audit_schema(cls, project: Any) -> Iterator[None]:
        yield
        with project.adapter.connection_named("__test"):
            schema = f"{project.test_schema}_{TEST_AUDIT_SCHEMA_SUFFIX}"
            project.adapter.drop_schema(project.adapter.Relation.create(project.database, schema))


class TestStoreTestFailures(AuditSchema, BaseStoreTestFailures):
    def column_type_overrides(self) -> dict[str, Any]:
        return {}


class TestStoreTestFailuresLimit(AuditSchema, BaseStoreTestFailuresLimit):
    def column_type_overrides(self) -> dict[str, Any]:
        return {}


class TestStoreTestFailuresAsInteractions(basic.StoreTestFailuresAsInteractions):
    pass


class TestStoreTestFailuresAsProjectLevelOff(basic.StoreTestFailuresAsProjectLevelOff):
    pass


class TestStoreTestFailuresAsProjectLevelView(basic.StoreTestFailuresAsProjectLevelView):
    pass


class TestStoreTestFailuresAsProjectLevelEphemeral(basic.StoreTestFailuresAsProjectLevelEphemeral):
    pass


class TestStoreTestFailuresAsGeneric(basic.StoreTestFailuresAsGeneric):
    pass


class TestStoreTestFailuresAsExceptions(basic.StoreTestFailuresAsExceptions):
    pass


class TestUnitTestCaseInsensitivity(BaseUnitTestCaseInsensivity):
    pass


class TestUnitTestInvalidInput(BaseUnitTestInvalidInput):
    pass


class TestUnitTestVarchar(BaseUnitTestingVarcharFixtureNoTruncation):
    pass


class TestUnitTestQuotedReservedWords(BaseUnitTestQuotedReservedWordColumnNames):
    @pytest.fixture(scope="class")
    @classmethod
    def models(cls) -> dict[str, str]:
        return {
            "my_model.sql": my_model_sql,
            "my_upstream_model.sql": "select 1 as `GROUP`",
            "unit_tests.yml": csv_fixtures_yml,
        }


class TestUnitTestTypes(BaseUnitTestingTypes):
    @pytest.fixture
    def data_types(self) -> list[list[Any]]:
        return [
            ["1", "1"],
            ["2.0", "2.0"],
            ["'12345'", "12345"],
            ["'string'", "string"],
            ["true", "true"],
            ["date '2011-11-11'", "2011-11-11"],
            ["timestamp '2013-11-03 00:00:00-0'", "2013-11-03 00:00:00-0"],
            ["array(1, 2)", "'array(1, 2)'"],
            ["map('a', 1)", "'map(\"a\", 1)'"],
        ]
