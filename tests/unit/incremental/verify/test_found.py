"""The result that follows from the differences, and its record."""

from __future__ import annotations

import json

import pytest

from iceberg_incremental.verify.found import (
    VERIFIED_KEY,
    Found,
    Kind,
    Permitted,
    Result,
    Verified,
    found,
    last_verified,
    to_property,
)

TOO_MANY = Permitted(frozenset({Kind.TOO_MANY}), "upserts")
ALL = Permitted(frozenset(Kind), "ignore")


@pytest.mark.parametrize(
    ("differences", "permitted", "in_part", "result"),
    [
        (Found(), (), False, Result.EQUAL),
        (Found(), (ALL,), False, Result.EQUAL),
        (Found(), (), True, Result.EQUAL_IN_PART),
        (Found(by_rounding=1), (), True, Result.EQUAL_BUT_ROUNDING),
        (Found(missing=1), (), False, Result.DIFFERS),
        (Found(missing=1), (ALL,), False, Result.NOT_COMPARED),
        (Found(too_many=1), (TOO_MANY,), False, Result.NOT_COMPARED),
        (Found(too_many=1, changed=1), (TOO_MANY,), False, Result.DIFFERS),
        (Found(changed=1, by_rounding=1), (), True, Result.DIFFERS),
    ],
)
def test_the_result(differences, permitted, in_part, result):
    assert differences.result(permitted, in_part=in_part) is result


def test_rows_of_the_query_are_combined():
    row = json.dumps({"id": 1})
    pair = json.dumps({"rebuilt": {"id": 1}, "table": {"id": 1}})
    rows = [(2, 0, 1, 0, row, None, pair, None, 1, 0), *[(1, 0, 0, 0, row, None, None, None, 0, 0)] * 6]
    put = found(rows, ["amount", "ratio"])
    assert (put.missing, put.too_many, put.changed, put.by_rounding) == (8, 0, 1, 0)
    assert put.columns == {"amount": 1}
    assert len(put.examples["missing"]) == 5 and put.examples.keys() == {"missing", "changed"}
    assert put.kinds == {Kind.MISSING, Kind.CHANGED}
    assert found([], ["amount"]) == Found()


def test_a_comparison_is_recorded():
    verified = Verified("equal_in_part", 1_767_225_600_000, 42, 7, 0.005)
    assert last_verified({VERIFIED_KEY: to_property(verified)}) == verified
    assert verified.text == (
        "verified on 2026-01-01 00:00:00 UTC: equal in part (run 7, snapshot 42, 0.5% of the keys)"
    )
    assert last_verified({}) is None and last_verified({VERIFIED_KEY: "{}"}) is None
    assert last_verified({VERIFIED_KEY: "no"}) is None
