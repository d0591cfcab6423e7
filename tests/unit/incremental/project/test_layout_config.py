"""Valid and invalid values of ``partition_by``."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.project.layout_config import partition_fields as fields
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
