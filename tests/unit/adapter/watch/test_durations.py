from __future__ import annotations

import click
import pytest

from dbt.adapters.spark_iceberg.watch.command_line import Seconds


@pytest.mark.parametrize(
    ("text", "found"),
    [("2", 2), ("0.5", 0.5), ("500ms", 0.5), ("2s", 2), ("1m30s", 90), ("1h", 3600), ("2 days", 172_800)],
)
def test_an_option_is_a_duration_or_a_number_of_seconds(text, found):
    assert Seconds().convert(text, None, None) == found


@pytest.mark.parametrize("text", ["", "s", "2x", "-1s", "1m2", "s2", "two", "0", "0s"])
def test_the_error_of_an_option_states_the_expected_format(text):
    with pytest.raises(click.BadParameter, match="expected a duration above 0, such as '14 days'"):
        Seconds().convert(text, None, None)


def test_zero_if_it_is_allowed():
    assert Seconds(may_be_zero=True).convert("0s", None, None) == 0
