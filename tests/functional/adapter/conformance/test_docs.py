"""``dbt docs generate`` and comments."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.artifacts.schemas.catalog import CatalogArtifact
from dbt.tests.adapter.basic import expected_catalog
from dbt.tests.adapter.basic.test_docs_generate import BaseDocsGenerate, BaseDocsGenReferences
from dbt.tests.adapter.basic.test_get_catalog_for_single_relation import BaseGetCatalogForSingleRelation
from dbt.tests.adapter.catalog import files
from dbt.tests.adapter.catalog.relation_types import CatalogRelationTypes
from dbt.tests.adapter.persist_docs.test_persist_docs import (
    BasePersistDocs,
    BasePersistDocsAllColumnsMissing,
    BasePersistDocsColumnMissing,
    BasePersistDocsCommentOnQuotedColumn,
    BasePersistDocsQuotedColumnCaseSensitive,
    BasePersistDocsQuotedDescriptionNotAppliedOnMismatch,
)
from dbt.tests.util import AnyString
from dbt_common.contracts.metadata import CatalogTable, ColumnMetadata, StatsItem, TableMetadata

COLUMNS = {"id": "bigint", "first_name": "string", "email": "string", "ip_address": "string", "updated_at": "timestamp"}


def stat(key: str, label: str, value: object) -> dict[str, Any]:
    return {"id": key, "label": label, "value": value, "description": AnyString(), "include": True}


class AnyNumber:
    """A number of any type. In dbt's catalog, numbers are floats."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (int, float))


class AnyOwner:
    """The user that runs the test, if the catalog knows owners."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return other is None or isinstance(other, str)


ANY_OWNER = AnyOwner()
NUMBERS = {
    "format_version": "Format Version",
    "snapshots": "Snapshots",
    "files": "Data Files",
    "delete_files": "Delete Files",
    "bytes": "Size in Bytes",
    "rows": "Row Count",
}
TEXTS = {"partitioned_by": "Partitioned By", "sorted_by": "Sorted By", "last_modified": "Last Modified"}
TABLE_STATS = {
    **{key: stat(key, label, AnyNumber()) for key, label in NUMBERS.items()},
    **{key: stat(key, label, AnyString()) for key, label in TEXTS.items()},
    "has_stats": {**stat("has_stats", "Has Stats?", True), "include": False},
}


def single(project: Any, name: str, kind: str, stats: dict[str, Any]) -> CatalogTable:
    columns = {
        column: ColumnMetadata(type=type_, index=place, name=column, comment=None)
        for place, (column, type_) in enumerate(COLUMNS.items(), start=1)
    }
    metadata = TableMetadata(kind, project.test_schema, name, project.database, None, ANY_OWNER)  # type: ignore[arg-type]
    return CatalogTable(metadata, columns, stats)


class TestDocsGenerate(BaseDocsGenerate):
    @pytest.fixture(scope="class")
    @classmethod
    def expected_catalog(cls, project: Any) -> dict[str, Any]:
        return expected_catalog.base_expected_catalog(
            project,
            role=ANY_OWNER,
            id_type="bigint",
            text_type="string",
            time_type="timestamp",
            view_type="view",
            table_type="table",
            model_stats=expected_catalog.no_stats(),
            seed_stats=TABLE_STATS,
        )


class TestDocsGenReferences(BaseDocsGenReferences):
    @pytest.fixture(scope="class")
    @classmethod
    def expected_catalog(cls, project: Any) -> dict[str, Any]:
        return expected_catalog.expected_references_catalog(
            project,
            role=ANY_OWNER,
            id_type="bigint",
            text_type="string",
            time_type="timestamp",
            bigint_type="bigint",
            view_type="view",
            table_type="table",
            model_stats=TABLE_STATS,
            seed_stats=TABLE_STATS,
            view_summary_stats=expected_catalog.no_stats(),
        )


class TestGetCatalogForSingleRelation(BaseGetCatalogForSingleRelation):
    @pytest.fixture(scope="class")
    @classmethod
    def expected_catalog_my_seed(cls, project: Any) -> CatalogTable:
        stats = {key: StatsItem(**value) for key, value in TABLE_STATS.items() if key != "has_stats"}
        return single(project, "my_seed", "table", stats)

    @pytest.fixture(scope="class")
    @classmethod
    def expected_catalog_my_view_model(cls, project: Any) -> CatalogTable:
        return single(project, "my_view_model", "view", {})


class TestPersistDocs(BasePersistDocs):
    pass


class TestPersistDocsColumnMissing(BasePersistDocsColumnMissing):
    pass


class TestPersistDocsAllColumnsMissing(BasePersistDocsAllColumnsMissing):
    pass


class TestPersistDocsQuotedColumnCaseSensitive(BasePersistDocsQuotedColumnCaseSensitive):
    pass


class TestPersistDocsQuotedDescriptionNotAppliedOnMismatch(BasePersistDocsQuotedDescriptionNotAppliedOnMismatch):
    pass


class TestPersistDocsCommentOnQuotedColumn(BasePersistDocsCommentOnQuotedColumn):
    pass


class TestCatalogRelationTypes(CatalogRelationTypes):
    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def models(cls) -> dict[str, str]:
        return {"my_table.sql": files.MY_TABLE, "my_view.sql": files.MY_VIEW}

    @pytest.mark.parametrize(
        ("node_name", "relation_type"),
        [("seed.test.my_seed", "table"), ("model.test.my_table", "table"), ("model.test.my_view", "view")],
    )
    def test_relation_types_populate_correctly(self, docs: CatalogArtifact, node_name: str, relation_type: str) -> None:
        super().test_relation_types_populate_correctly(docs, node_name, relation_type)
