from __future__ import annotations

import pytest
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from dbt.adapters.spark_iceberg.relations.lookup import RelationLookup, folds_case
from dbt.adapters.spark_iceberg.relations.relation import SparkIcebergRelation


@pytest.mark.parametrize(
    ("catalog", "settings", "expected"),
    [
        ("spark_catalog", {}, True),
        ("lake", {}, False),
        ("lake", {"spark.sql.catalog.lake.type": "hive"}, True),
        ("lake", {"spark.sql.catalog.lake.type": "rest"}, False),
        ("lake", {"spark.sql.catalog.lake.catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog"}, True),
        ("lake", {"spark.sql.catalog.lake.catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog"}, False),
        ("lake", {"spark.sql.catalog.other.type": "hive"}, False),
    ],
)
def test_hive_and_glue_store_names_in_lower_case(catalog, settings, expected):
    assert folds_case(catalog, settings) is expected


@pytest.mark.parametrize(
    ("schema", "settings", "expected"),
    [
        ("Mixed", {}, True),
        ("mixed", {}, False),
        ("UPPER", {}, False),
        ("upper", {}, True),
        ("new", {}, False),  # dbt has created it
        ("Mixed", {"spark.sql.catalog.lake.type": "hive"}, False),
    ],
)
def test_schemas_that_dbt_overlooks(schema, settings, expected):
    class Connections:
        def catalog_file(self, catalog: str):
            assert catalog == "lake"

        def rows(self, sql: str):
            assert sql == "show schemas in `lake`"
            return [("mixed",), ("UPPER",), ("`a b`",)]

    lookup = RelationLookup(Connections(), "lake", lambda: settings)
    wanted = SparkIcebergRelation.create(database="lake", schema=schema)
    assert not lookup.is_overlooked(wanted)  # dbt has not listed any schema
    assert lookup.schemas("`lake`") == ["mixed", "UPPER", "a b"]
    assert lookup.is_overlooked(wanted) is expected


class Nested:
    """A catalog with the schemas a, a.b, a.b.`x y` and c."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def catalog_file(self, catalog: str):
        return None

    def rows(self, sql: str):
        self.sent.append(sql)
        if sql.startswith("describe schema") and sql != "describe schema `lake`.`a`.`b`":
            raise DbtDatabaseError("[SCHEMA_NOT_FOUND]")
        return {
            "show schemas in `lake`": [("a",), ("c",)],
            "show schemas in `lake`.`a`": [("a.b",)],
            "show schemas in `lake`.`a`.`b`": [("a.b.`x y`",)],
        }.get(sql, [])


def test_schemas_within_schemas():
    connections = Nested()
    lookup = RelationLookup(connections, "lake", dict)
    assert list(lookup.schemas_within("lake")) == ["a", "a.b", "a.b.x y", "c"]
    assert lookup.has_schema("lake", "c") and not lookup.has_schema("lake", "b")
    assert lookup.has_schema("lake", "a.b") and not lookup.has_schema("lake", "a.c")


def test_the_levels_of_a_new_schema():
    def missing(schema, **settings):
        settings = {f"spark.sql.catalog.lake.{key}": value for key, value in settings.items()}
        lookup = RelationLookup(Nested(), "lake", lambda: settings)
        wanted = SparkIcebergRelation.create(database="lake", schema=schema, identifier="t")
        return [each.render() for each in lookup.missing_levels(wanted)]

    assert missing("new") == ["`lake`.`new`"]
    assert missing("a.b") == []
    assert missing("a.c.d") == ["`lake`.`a`", "`lake`.`a`.`c`", "`lake`.`a`.`c`.`d`"]
    for kind in ("hive", "glue"):
        assert missing("new", type=kind) == ["`lake`.`new`"]
        with pytest.raises(
            DbtRuntimeError, match=r"(?s)`a\.c` has several levels.*one level in the catalog `lake`.*`a_c`"
        ):
            missing("a.c", type=kind)
