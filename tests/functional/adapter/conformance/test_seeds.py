"""Seeds."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.adapter.simple_seed import fixtures, seeds
from dbt.tests.adapter.simple_seed.test_seed import (
    BaseBasicSeedTests,
    BaseSeedConfigFullRefreshOff,
    BaseSeedCustomSchema,
    BaseSeedParsing,
    BaseSeedSpecificFormats,
    BaseSeedWithEmptyDelimiter,
    BaseSeedWithUniqueDelimiter,
    BaseSeedWithWrongDelimiter,
    BaseSimpleSeedEnabledViaConfig,
    BaseSimpleSeedWithBOM,
    BaseTestEmptySeed,
)
from dbt.tests.adapter.simple_seed.test_seed_type_override import BaseSimpleSeedColumnOverride
from dbt.tests.util import copy_file, get_connection

from .spark_sql import InSparkSql


class TestBasicSeeds(InSparkSql, BaseBasicSeedTests):
    @pytest.mark.skip(reason="a table is replaced, and the views of it stay")
    def test_simple_seed_full_refresh_flag(self):
        pass


class TestSeedConfigFullRefreshOff(InSparkSql, BaseSeedConfigFullRefreshOff):
    pass


class TestSeedCustomSchema(InSparkSql, BaseSeedCustomSchema):
    pass


class TestSeedWithUniqueDelimiter(InSparkSql, BaseSeedWithUniqueDelimiter):
    pass


class TestSeedWithWrongDelimiter(InSparkSql, BaseSeedWithWrongDelimiter):
    pass


class TestSeedWithEmptyDelimiter(InSparkSql, BaseSeedWithEmptyDelimiter):
    pass


class TestSimpleSeedEnabledViaConfig(BaseSimpleSeedEnabledViaConfig):
    @pytest.fixture(scope="class")
    @classmethod
    def seeds(cls) -> dict[str, str]:
        # dbt's own fixture has session scope, in which pytest does not find the class
        return {
            "seed_enabled.csv": seeds.seeds__enabled_in_config_csv,
            "seed_disabled.csv": seeds.seeds__disabled_in_config_csv,
            "seed_tricky.csv": seeds.seeds__tricky_csv,
        }

    @pytest.fixture
    def clear_test_schema(self, project: Any) -> Iterator[None]:
        # Iceberg does not drop a schema that contains tables, not even with CASCADE
        yield
        with get_connection(project.adapter):
            project.adapter.drop_schema(project.adapter.Relation.create(project.database, project.test_schema))


class TestSeedParsing(InSparkSql, BaseSeedParsing):
    pass


class TestSimpleSeedWithBOM(InSparkSql, BaseSimpleSeedWithBOM):
    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def setUp(cls, project: Any) -> None:
        # dbt's own fixture reads a file next to the test
        project.run_sql(seeds.seeds__expected_sql)
        folder = Path(inspect.getfile(fixtures)).parent
        copy_file(folder, "seed_bom.csv", Path(project.project_root) / "seeds" / "seed_bom.csv", "")


class TestSeedSpecificFormats(BaseSeedSpecificFormats):
    pass


class TestEmptySeed(BaseTestEmptySeed):
    pass


class TestSeedColumnOverride(BaseSimpleSeedColumnOverride):
    @pytest.fixture(scope="class")
    @classmethod
    def models(cls) -> dict[str, str]:
        spark = fixtures.properties__schema_yml
        for other, ours in (("type: text", "type: string"), ("type: integer", "type: bigint")):
            spark = spark.replace(other, ours)
        return {"schema.yml": spark.replace("timestamp without time zone", "timestamp")}

    @staticmethod
    def seed_enabled_types() -> dict[str, str]:
        return {"seed_id": "string", "birthday": "date"}

    @staticmethod
    def seed_tricky_types() -> dict[str, str]:
        return dict.fromkeys(("seed_id_str", "looks_like_a_bool", "looks_like_a_date"), "string")
