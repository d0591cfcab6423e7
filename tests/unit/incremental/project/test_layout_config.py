"""Valid and invalid values of ``partition_by``."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.project.layout_config import partition_fields as fields
from dbt.adapters.spark_iceberg.project.layout_config import sort_fields, write_order
from iceberg_incremental.errors import ConfigError


@pytest.mark.parametrize(
    "value",
    [
        "region",
        "`a, b(`",
        "s.day",
        "days(at)",
        "date(at)",
        "bucket(16, id)",
        "truncate(v, 4)",
        "Days( `at` )",
        "día",
        "2nd",
    ],
)
def test_a_field_is_a_column_or_a_transform(value):
    assert fields(value, "model.shop.t") == fields([value], "model.shop.t") == [value]


@pytest.mark.parametrize("value", ["id", "id desc", "days(at) ASC NULLS LAST", "`a b`  nulls first", "s.day Desc"])
def test_a_field_of_an_order_may_have_a_direction(value):
    assert sort_fields(value, "model.shop.t") == [value]


@pytest.mark.parametrize("value", ["id descending", "id nulls", "id desc asc", {"id": "desc"}, 7])
def test_invalid_orders_are_errors_that_name_sort_by(value):
    with pytest.raises(ConfigError, match=r"sort_by of model\.shop\.t has"):
        sort_fields(value, "model.shop.t")


def test_a_build_is_sorted_by_partition_first():
    config = {"partition_by": ["day(at)", "bucket(4, `It's`)"], "sort_by": ["truncate(10, `a b`) desc", "identity(id)"]}
    order = write_order(config, {}, "model.shop.t")
    assert order.rows_sql("select 1", "la`ke") == (
        "select * from (\nselect 1\n)\norder by `la``ke`.system.days(at), `la``ke`.system.bucket(4, `It's`), "
        "`la``ke`.system.truncate(10, `a b`) desc nulls last, id asc nulls first"
    )
    assert order.clause == "WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY truncate(10, `a b`) desc, identity(id)"
    assert order.properties == {"write.distribution-mode": "none"}


def test_the_users_distribution_is_left_alone():
    order = write_order({"partition_by": "at", "sort_by": "id"}, {"write.distribution-mode": "range"}, "model.shop.t")
    assert (order.clause, order.properties) == ("WRITE LOCALLY ORDERED BY id", {})
    assert write_order({"partition_by": "at"}, {}, "model.shop.t") is None


def test_no_fields():
    assert fields(None, "model.shop.t") == fields([], "model.shop.t") == []


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("day(d", "neither a column name .* nor a transform"),
        ("a b", "neither a column name .* nor a transform of a column"),
        ("week(d)", "an unknown transform, week"),
        ("bucket(id)", "bucket\\(\\) takes a whole number above 0 and a column"),
        ("bucket(id, 4)", "write bucket\\(4, id\\)"),
        ("bucket(0, id)", "bucket\\(\\) takes a whole number above 0 and a column"),
        ("days(a, b)", "but days\\(\\) takes exactly one column"),
        (["region", 7], "a int"),
        (7, "a int"),
        ({"field": "d", "data_type": "date"}, "a dict(.|\n)*write partition_by: d\\."),
        ([{"field": "at", "data_type": "timestamp", "granularity": "hour"}], "write partition_by: hours\\(at\\)\\."),
        ({"field": "at", "data_type": "timestamp"}, "write partition_by: days\\(at\\)\\."),
    ],
)
def test_invalid_values_are_errors_that_name_partition_by(value, said):
    with pytest.raises(ConfigError, match=said) as caught:
        fields(value, "model.shop.t")
    assert "partition_by of model.shop.t" in str(caught.value)
