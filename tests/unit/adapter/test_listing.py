from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.relations.lookup import ilike


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("%", "anything", True),
        ("%", "", True),
        ("", "", True),
        ("", "a", False),
        ("raw", "RAW", True),
        ("raw", "raw_1", False),
        ("raw_1", "raw_1", True),
        ("raw_1", "rawx1", True),
        (r"raw\_1", "raw_1", True),
        (r"raw\_1", "rawx1", False),
        (r"100\%", "100%", True),
        (r"100\%", "1000", False),
        ("a.c", "abc", False),
        ("%a[1]%", "xa[1]y", True),
    ],
)
def test_names_match_as_in_ilike(pattern: str, name: str, matches: bool) -> None:
    assert bool(ilike(pattern).fullmatch(name)) == matches
