"""``--empty`` and ``--sample``."""

from __future__ import annotations

import pytest
from dbt.cli.main import seed
from dbt.tests.adapter.empty import _models
from dbt.tests.adapter.empty.test_empty import (
    BaseTestEmpty,
    BaseTestEmptyInlineSourceRef,
    BaseTestEmptySeedFlag,
    MetadataWithEmptyFlag,
)
from dbt.tests.adapter.sample_mode.test_sample_mode import BaseSampleModeTest


class TestEmptyFlag(BaseTestEmpty):
    pass


class TestEmptyFlagInlineSourceRef(BaseTestEmptyInlineSourceRef):
    pass


@pytest.mark.skipif(
    not any("--empty" in option.opts for option in seed.params), reason="dbt seed --empty is newer than this dbt-core"
)
class TestEmptySeedFlag(BaseTestEmptySeedFlag):
    pass


class TestMetadataWithEmptyFlag(MetadataWithEmptyFlag):
    @pytest.fixture(scope="class")
    @classmethod
    def models(cls) -> dict[str, str]:
        # Spark's varchar needs a length
        return {
            "schema.yml": _models.SCHEMA,
            "control.sql": _models.CONTROL,
            "get_columns_in_relation.sql": _models.GET_COLUMNS_IN_RELATION,
            "alter_column_type.sql": _models.ALTER_COLUMN_TYPE.replace("varchar", "string"),
            "alter_relation_comment.sql": _models.ALTER_RELATION_COMMENT,
            "alter_column_comment.sql": _models.ALTER_COLUMN_COMMENT,
            "alter_relation_add_remove_columns.sql": _models.ALTER_RELATION_ADD_REMOVE_COLUMNS.replace(
                "varchar", "string"
            ),
            "truncate_relation.sql": _models.TRUNCATE_RELATION,
        }


class TestSampleMode(BaseSampleModeTest):
    pass
