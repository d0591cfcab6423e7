"""What the runs of a real project send to a receiver of OpenLineage events."""
from __future__ import annotations

import json
import os
from pathlib import Path

import pytest


@pytest.fixture
def events(shop, tmp_path, monkeypatch):
    log = tmp_path / "events.jsonl"
    for name in [name for name in os.environ if name.startswith("OPENLINEAGE")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "file")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__LOG_FILE_PATH", str(log))
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__APPEND", "true")

    def taken():
        found = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        log.unlink(missing_ok=True)
        return found

    return taken


def test_x(shop, events):
    table = shop.source("events")
    shop.insert(table, "(1, 'a')")
    shop.model("staged", "select id, upper(v) as v from {{ ip_changes(source('raw', 'events')) }}")
    shop.model("copied", "select * from {{ ref('staged') }}", materialized="table")
    for _ in range(3):
        r = shop.run()
        found = events()
        Path("/tmp/ol_out.json").open("a").write(json.dumps(found, indent=1) + "\n-----\n" + r.printed[-600:])
        if _ == 0:
            shop.insert(table, "(2, 'b')")
    shop.model("copied", "select raise_error('no') as x from {{ ref('staged') }}", materialized="table")
    shop.fails()
    Path("/tmp/ol_out.json").open("a").write(json.dumps(events(), indent=1))
