from __future__ import annotations

import pytest
from jinja2 import Undefined

from dbt.adapters.spark_iceberg.hooks.macros import column_in, columns_in, relations_in
from dbt.adapters.spark_iceberg.relations.relation import SparkIcebergRelation
from iceberg_incremental.errors import ConfigError

FLIGHTS = SparkIcebergRelation.create(database="lake", schema="ops", identifier="flights")
MODEL = "model.shop.daily"


def test_some_macros_accept_a_list_of_relations():
    assert relations_in("ip_changes", FLIGHTS, several=False) == [FLIGHTS]
    assert relations_in("ip_range", FLIGHTS, several=True) == [FLIGHTS]
    assert relations_in("ip_range", [FLIGHTS, FLIGHTS], several=True) == [FLIGHTS, FLIGHTS]


@pytest.mark.parametrize(
    ("value", "several"), [("ops.flights", False), (None, True), ([], True), ([FLIGHTS], False), ([FLIGHTS, "x"], True)]
)
def test_other_values_than_relations_are_refused(value, several):
    with pytest.raises(ConfigError, match=r"ip_changes\(\) expects a relation"):
        relations_in("ip_changes", value, several=several)


@pytest.mark.parametrize(("value", "found"), [(3, "'3', of type int"), (Undefined(), "nothing"), (None, "nothing")])
def test_the_error_shows_the_value(value, found):
    with pytest.raises(ConfigError, match=f"ref\\(\\) or source\\(\\); found {found}\\."):
        relations_in("ip_changes", value, several=False)
    with pytest.raises(ConfigError, match=f"with {found} instead of columns"):
        column_in("ip_range", value, MODEL)


def test_columns_are_one_name_or_a_list_with_or_without_quotes():
    assert columns_in("ip_changelog", "`a b`", MODEL) == ["a b"]
    assert columns_in("ip_changelog", ["id", "`v`"], MODEL) == ["id", "v"]
    assert columns_in("ip_changelog", [], MODEL) == []
    assert column_in("ip_range", "`at`", MODEL) == "at"


@pytest.mark.parametrize("value", [3, ["id", 3], {"id": 1}])
def test_other_values_than_columns_are_refused(value):
    for read in (columns_in, column_in):
        with pytest.raises(ConfigError, match="instead of columns"):
            read("ip_range", value, MODEL)
