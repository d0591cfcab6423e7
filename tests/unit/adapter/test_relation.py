from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.relations.relation import SparkIcebergRelation


def relation(**path) -> SparkIcebergRelation:
    return SparkIcebergRelation.create(**path)


@pytest.mark.parametrize(
    ("path", "rendered"),
    [
        (("lake", "ops", "flights"), "`lake`.`ops`.`flights`"),
        (("spark_catalog", "default", "t"), "`spark_catalog`.`default`.`t`"),
        (("l a", "Up.per", "q`t"), "`l a`.`Up.per`.`q``t`"),
        ((None, "ops", "flights"), "`ops`.`flights`"),
    ],
)
def test_every_part_is_quoted(path, rendered):
    assert str(relation(**dict(zip(("database", "schema", "identifier"), path, strict=True)))) == rendered


def test_a_temporary_view_is_its_identifier():
    view = relation(database="lake", schema="ops", identifier="v__tmp").include(database=False, schema=False)
    assert view.render() == "`v__tmp`"


def test_a_name_without_a_schema_has_no_catalog_either():
    """As packages make the name of a temporary view of a model's."""
    model = relation(database="lake", schema="ops", identifier="v")
    assert str(model.incorporate(path={"schema": None, "identifier": "v__tmp"})) == "`v__tmp`"


def test_the_catalog_and_the_schema_alone():
    whole = relation(database="lake", schema="ops", identifier="t")
    assert whole.without_identifier().render() == "`lake`.`ops`"
    assert str(whole.include(schema=False, identifier=False)) == "`lake`"


def test_empty_reads_no_rows_and_keeps_the_name():
    empty = SparkIcebergRelation.create(database="lake", schema="ops", identifier="t", limit=0)
    assert str(empty) == "(select * from `lake`.`ops`.`t` where false limit 0)"
    assert empty.render() == "`lake`.`ops`.`t`"
