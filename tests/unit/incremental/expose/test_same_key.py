"""Whether two rows have the same key, as a join condition."""

from __future__ import annotations

import pytest

from iceberg_incremental.expose.same_key import fits_one_number, same_key


@pytest.mark.parametrize(
    ("types", "fits"),
    [
        (["int", "int"], True),
        (["int", "date"], True),
        (["bigint"], True),
        (["bigint", "int"], False),
        (["string"], False),
    ],
)
def test_keys_that_fit_one_number(types, fits):
    assert fits_one_number(types) is fits


@pytest.mark.parametrize(
    ("names", "types", "nulls", "condition"),
    [
        (["id"], ["string"], False, "a.`id` = b.`id`"),
        (["id"], ["string"], True, "a.`id` <=> b.`id`"),
        (["id", "day"], ["int", "date"], False, "a.`id` = b.`id` and unix_date(a.`day`) = unix_date(b.`day`)"),
        (["id", "day"], ["int", "date"], True, "a.`id` <=> b.`id` and a.`day` <=> b.`day`"),
        (["id", "day"], ["bigint", "date"], False, "a.`id` = b.`id` and a.`day` = b.`day`"),
    ],
)
def test_the_condition(names, types, nulls, condition):
    assert same_key("a", "b", names, types, nulls=nulls) == condition
