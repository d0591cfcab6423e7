"""Errors about a model's own table."""

from __future__ import annotations

import json

import pytest

from iceberg_incremental.explain.target_errors import unreadable_checkpoint
from iceberg_incremental.table.checkpoint import MAX_LENGTH, Place, UnreadableCheckpoint, parse
from tests.unit.incremental import histories as h

VALID = json.loads(h.checkpoint().to_json())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{", "text that is not JSON (Expecting property name"),
        ("[]", "a JSON list."),
        (json.dumps({**VALID, "version": 2}), "version '2'."),
        (json.dumps({**VALID, "epoch": "7"}), "str in 'epoch', not a whole number."),
        (json.dumps({**VALID, "epoch": 0}), "0 in 'epoch', out of range."),
        (json.dumps({**VALID, "model": None}), "no value in 'model'."),
        (json.dumps({**VALID, "sources": {"a.b.c": 7}}), "int in 'a.b.c', not a mapping."),
        (" " * (MAX_LENGTH + 1), "1048577 characters, more than the maximum of 1048576."),
    ],
)
def test_the_error_of_an_unreadable_checkpoint_names_the_problem(text, found):
    with pytest.raises(UnreadableCheckpoint) as caught:
        parse(text, Place(h.FLIGHTS, 42))
    said = str(unreadable_checkpoint(caught.value))
    assert f"Found: {found}" in said and "the summary of snapshot 42 of lake.ops.flights" in said
    assert "To fix" in said


def test_an_unreadable_property_is_named():
    with pytest.raises(UnreadableCheckpoint) as caught:
        parse("", Place(h.FLIGHTS))
    assert "the property 'ip.checkpoint' of lake.ops.flights" in str(unreadable_checkpoint(caught.value))
