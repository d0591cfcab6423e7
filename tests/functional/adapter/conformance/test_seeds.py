"""Seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dbt.tests.adapter.simple_seed import fixtures, seeds
from dbt.tests.adapter.simple_seed.test_seed import (
    BaseBasicSeedTests,
    BaseSeedConfigFullRefreshOff,
    BaseSeedConfigFullRefreshOn,
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
from dbt.tests.util import copy_file

# The table that the seeds are compared with, by the names of Spark's types, one statement at a time.
EXPECTED = [
    each.replace("TEXT", "STRING").replace("WITHOUT TIME ZONE", "").replace('"', "`")
    for each in seeds.seeds__expected_sql.split(";")
    if each.strip()
]


class Expected:
    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def setUp(cls, project: Any) -> None:
        for statement in EXPECTED:
            project.run_sql(statement)


class TestBasicSeeds(Expected, BaseBasicSeedTests):
    pass


class TestSeedConfigFullRefreshOn(Expected, BaseSeedConfigFullRefreshOn):
    pass


class TestSeedConfigFullRefreshOff(Expected, BaseSeedConfigFullRefreshOff):
    pass


class TestSeedCustomSchema(Expected, BaseSeedCustomSchema):
    pass


class TestSeedWithUniqueDelimiter(Expected, BaseSeedWithUniqueDelimiter):
    pass


class TestSeedWithWrongDelimiter(Expected, BaseSeedWithWrongDelimiter):
    pass


class TestSeedWithEmptyDelimiter(Expected, BaseSeedWithEmptyDelimiter):
    pass


class TestSimpleSeedEnabledViaConfig(BaseSimpleSeedEnabledViaConfig):
    pass


class TestSeedParsing(Expected, BaseSeedParsing):
    pass


class TestSimpleSeedWithBOM(BaseSimpleSeedWithBOM):
    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def setUp(cls, project: Any) -> None:
        for statement in EXPECTED:
            project.run_sql(statement)
        copy_file(project.test_dir, "seed_bom.csv", Path(project.project_root) / "seeds" / "seed_bom.csv", "")


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
