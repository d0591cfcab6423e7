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
        (("l a", "Up.per", "q`t"), "`l a`.`Up`.`per`.`q``t`"),
        ((None, "ops", "flights"), "`ops`.`flights`"),
    ],
)
def test_every_part_is_quoted(path, rendered):
    assert str(relation(**dict(zip(("database", "schema", "identifier"), path, strict=True)))) == rendered


def test_a_temporary_view_has_only_an_identifier():
    view = relation(database="lake", schema="ops", identifier="v__tmp").include(database=False, schema=False)
    assert view.render() == "`v__tmp`"


def test_a_name_without_a_schema_has_no_catalog():
    """Packages create the name of a model's temporary view like this."""
    model = relation(database="lake", schema="ops", identifier="v")
    assert str(model.incorporate(path={"schema": None, "identifier": "v__tmp"})) == "`v__tmp`"


def test_catalog_and_schema_without_an_identifier():
    whole = relation(database="lake", schema="ops", identifier="t")
    assert whole.without_identifier().render() == "`lake`.`ops`"
    assert str(whole.include(schema=False, identifier=False)) == "`lake`"


def test_a_relation_with_limit_0_reads_no_rows_and_keeps_its_name():
    empty = SparkIcebergRelation.create(database="lake", schema="ops", identifier="t", limit=0)
    assert str(empty) == "(select * from `lake`.`ops`.`t` where false limit 0)"
    assert empty.render() == "`lake`.`ops`.`t`"
