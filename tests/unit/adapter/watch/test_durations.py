from __future__ import annotations

import click
import pytest

from dbt.adapters.spark_iceberg.watch.durations import parse, seconds


@pytest.mark.parametrize(
    ("text", "found"),
    [("2", 2), ("0.5", 0.5), ("500ms", 0.5), ("2s", 2), ("1m30s", 90), ("1h", 3600), ("0s", 0)]
    + [(text, None) for text in ("", "s", "2 s", "2d", "-1s", "1m2", "s2", "two")],
)
def test_parse(text, found):
    assert parse(text) == found


def test_an_option_says_what_it_takes():
    with pytest.raises(
        click.BadParameter, match="'2 days' is no duration: expected one such as 500ms, 2s, 1m30s or 1h"
    ):
        seconds("2 days")
