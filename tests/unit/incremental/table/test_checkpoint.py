"""Checkpoints as JSON text."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from iceberg_incremental.table.checkpoint import (
    MAX_LENGTH,
    Checkpoint,
    CheckpointFlaw,
    Deletions,
    Place,
    RecordedLogic,
    RowOrder,
    UnreadableCheckpoint,
    parse,
)
from iceberg_incremental.table.shares import Share
from tests.unit.incremental import histories as h
from tests.unit.incremental.histories import checkpoint

SUMMARY = Place(h.FLIGHTS, 42)


def test_round_trip():
    read_as = replace(h.at(7), changelog=True)
    changelog = Checkpoint("model.shop.daily", 1, "an-invocation", {"lake.ops.flights": read_as})
    for written in (checkpoint(), checkpoint(7, target=5), checkpoint(position=None), changelog):
        assert parse(written.to_json(), SUMMARY) == written


@pytest.mark.parametrize(
    "order",
    [
        RowOrder(("at",)),
        RowOrder(("at",), key=("a", "b")),
        RowOrder(("at", "n"), Deletions("lake.ops.flights__ip_deleted", 9)),
        RowOrder(("at", "n"), Deletions("lake.ops.flights__ip_deleted", 9), ("a",)),
    ],
)
def test_the_order_of_rows_round_trips(order):
    written = replace(checkpoint(), sequence=order)
    assert parse(written.to_json(), SUMMARY) == written


@pytest.mark.parametrize(
    "logic", [RecordedLogic("1:ab"), RecordedLogic("1:ab", 7, {"id": "bigint"}), RecordedLogic("1:ab", others=False)]
)
def test_the_logic_round_trips(logic):
    written = replace(checkpoint(), logic=logic)
    assert parse(written.to_json(), SUMMARY) == written


def test_the_text_has_the_documented_format():
    assert json.loads(checkpoint(7).to_json()) == {
        "version": 1,
        "model": "model.shop.daily",
        "epoch": 7,
        "invocation_id": "an-invocation",
        "target_snapshot_id": None,
        "sources": {
            "lake.ops.flights": {
                "table_uuid": h.UUID,
                "snapshot_id": 7,
                "sequence_number": 7,
                "timestamp_ms": h.EPOCH_MS + 7000,
            }
        },
    }


def test_shares_are_optional_in_the_text():
    written = replace(checkpoint(7), shares={"lake.ops.flights": Share(20, 1000, 80, 4000)})
    document = json.loads(written.to_json())
    assert document["sources"]["lake.ops.flights"]["read"] == {
        "records": 20,
        "bytes": 1000,
        "table_records": 80,
        "table_bytes": 4000,
    }
    assert parse(written.to_json(), SUMMARY) == written
    document["sources"]["lake.ops.flights"]["read"] = {"of": "a later version"}
    assert parse(json.dumps(document), SUMMARY) == checkpoint(7)


@pytest.mark.parametrize(
    "name", ["it's", "a`b", "x;drop", "${env:HOME}", "{{ x }}", "täble ✈", "line\nbreak", '"q"', "\token"]
)
def test_names_are_escaped_in_the_text(name):
    text = checkpoint(source=f"lake.ops.{name}").to_json()
    assert text.isascii() and not set(text) & set("'`;$\n")
    assert list(parse(text, SUMMARY).sources) == [f"lake.ops.{name}"]


@pytest.mark.parametrize("name", ["short_urls", "Secret", "a\\\\url", "password_tokens", "access.key", "accessKey"])
def test_spark_does_not_hide_the_text(name):
    """SHOW TBLPROPERTIES replaces values that contain one of these words, as if they were credentials."""
    written = checkpoint(source=f"lake.ops.{name}")
    assert re.search("url|secret|password|token|access[.]?key", written.to_json(), re.IGNORECASE) is None
    assert parse(written.to_json(), SUMMARY) == written


VALID = json.loads(checkpoint().to_json())
SOURCE = VALID["sources"]["lake.ops.flights"]


@pytest.mark.parametrize(
    ("text", "flaw", "field", "found"),
    [
        ("", CheckpointFlaw.NOT_JSON, "", "Expecting value"),
        ("{", CheckpointFlaw.NOT_JSON, "", "Expecting property name"),
        ("[" * 100_000, CheckpointFlaw.NOT_JSON, "", "recursion"),
        ("[]", CheckpointFlaw.WRONG_TYPE, "", "list"),
        (json.dumps({**VALID, "version": 2}), CheckpointFlaw.OTHER_VERSION, "", "2"),
        (json.dumps({**VALID, "version": True}), CheckpointFlaw.OTHER_VERSION, "", "True"),
        (json.dumps({**VALID, "epoch": "7"}), CheckpointFlaw.WRONG_TYPE, "epoch", "str"),
        (json.dumps({**VALID, "epoch": 0}), CheckpointFlaw.OUT_OF_RANGE, "epoch", "0"),
        (json.dumps({**VALID, "epoch": True}), CheckpointFlaw.WRONG_TYPE, "epoch", "bool"),
        (json.dumps({**VALID, "epoch": 1.0}), CheckpointFlaw.WRONG_TYPE, "epoch", "float"),
        (json.dumps({**VALID, "model": None}), CheckpointFlaw.MISSING_FIELD, "model", "nothing"),
        (json.dumps({**VALID, "sources": []}), CheckpointFlaw.WRONG_TYPE, "sources", "list"),
        (json.dumps({**VALID, "sources": {"a.b.c": 7}}), CheckpointFlaw.WRONG_TYPE, "a.b.c", "int"),
        (json.dumps({**VALID, "sequence": {}}), CheckpointFlaw.MISSING_FIELD, "by", "nothing"),
        (json.dumps({**VALID, "sequence": {"by": [7]}}), CheckpointFlaw.WRONG_TYPE, "by", "int"),
        (
            json.dumps({**VALID, "sequence": {"by": [], "deletions": {"table": "a.b.c"}}}),
            CheckpointFlaw.MISSING_FIELD,
            "snapshot_id",
            "nothing",
        ),
        (
            json.dumps({**VALID, "sources": {"a": {**SOURCE, "snapshot_id": "7"}}}),
            CheckpointFlaw.WRONG_TYPE,
            "snapshot_id",
            "str",
        ),
        (
            json.dumps({**VALID, "sources": {"a": {**SOURCE, "snapshot_id": 2**63}}}),
            CheckpointFlaw.OUT_OF_RANGE,
            "snapshot_id",
            "9",
        ),
        (" " * (MAX_LENGTH + 1), CheckpointFlaw.TOO_LONG, "", str(MAX_LENGTH + 1)),
    ],
)
def test_invalid_checkpoints_are_refused(text, flaw, field, found):
    with pytest.raises(UnreadableCheckpoint) as caught:
        parse(text, SUMMARY)
    assert (caught.value.flaw, caught.value.field, caught.value.place) == (flaw, field, SUMMARY)
    assert found in caught.value.found


def test_the_error_shows_only_the_beginning_of_a_long_value():
    with pytest.raises(UnreadableCheckpoint) as caught:
        parse(json.dumps({**VALID, "epoch": 10**1000}), SUMMARY)
    assert len(caught.value.found) == 40
