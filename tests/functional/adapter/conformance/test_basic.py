"""Materializations, tests and the adapter's methods."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.basic.test_adapter_methods import BaseAdapterMethod
from dbt.tests.adapter.basic.test_base import BaseSimpleMaterializations
from dbt.tests.adapter.basic.test_empty import BaseEmpty
from dbt.tests.adapter.basic.test_ephemeral import BaseEphemeral
from dbt.tests.adapter.basic.test_generic_tests import BaseGenericTests
from dbt.tests.adapter.basic.test_singular_tests import BaseSingularTests
from dbt.tests.adapter.basic.test_singular_tests_ephemeral import BaseSingularTestsEphemeral
from dbt.tests.adapter.basic.test_table_materialization import BaseTableMaterialization
from dbt.tests.adapter.basic.test_validate_connection import BaseValidateConnection
from dbt.tests.adapter.concurrency.test_concurrency import BaseConcurrency
from dbt.tests.adapter.ephemeral.test_ephemeral import BaseEphemeralErrorHandling
from dbt.tests.adapter.relations.test_changing_relation_type import BaseChangeRelationTypeValidator
from dbt.tests.adapter.relations.test_dropping_schema_named import BaseDropSchemaNamed
from dbt.tests.adapter.simple_copy.test_copy_uppercase import BaseSimpleCopyUppercase
from dbt.tests.adapter.simple_copy.test_simple_copy import SimpleCopyBase


@pytest.mark.core
class TestSimpleMaterializations(BaseSimpleMaterializations):
    pass


class TestTableMaterialization(BaseTableMaterialization):
    pass


class TestAdapterMethods(BaseAdapterMethod):
    pass


class TestEmptyProject(BaseEmpty):
    pass


@pytest.mark.core
class TestEphemeral(BaseEphemeral):
    pass


class TestEphemeralErrorHandling(BaseEphemeralErrorHandling):
    pass


@pytest.mark.core
class TestGenericTests(BaseGenericTests):
    pass


class TestSingularTests(BaseSingularTests):
    pass


class TestSingularTestsEphemeral(BaseSingularTestsEphemeral):
    pass


class TestValidateConnection(BaseValidateConnection):
    pass


class TestConcurrency(BaseConcurrency):
    pass


class TestChangeRelationTypes(BaseChangeRelationTypeValidator):
    pass


class TestDropSchemaNamed(BaseDropSchemaNamed):
    pass


class TestSimpleCopy(SimpleCopyBase):
    @pytest.mark.skip(reason="Iceberg catalogs hold no materialized views")
    def test_simple_copy_with_materialized_views(self):
        pass


class TestSimpleCopyUppercase(BaseSimpleCopyUppercase):
    @pytest.fixture(scope="class")
    @classmethod
    def dbt_profile_target(cls, embedded_target: dict[str, Any]) -> dict[str, Any]:
        # dbt's own fixture names a database in mixed case
        return dict(embedded_target)
