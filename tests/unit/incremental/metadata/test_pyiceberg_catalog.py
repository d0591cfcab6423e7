from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from pyiceberg.table.metadata import TableMetadataUtil

from iceberg_incremental.errors import MetadataAccessError
from iceberg_incremental.metadata import table_metadata
from iceberg_incremental.metadata.catalogs import document_of
from iceberg_incremental.metadata.open import open_reader
from iceberg_incremental.table.history import Retention
from tests.unit.incremental.metadata.catalogs import TABLE

DEFAULTS = {
    "int": 7,
    "double": 0.5,
    "string": "é",
    "boolean": False,
    "decimal(9, 2)": "1.50",
    "date": "2026-01-02",
    "timestamp": "2026-01-02T03:04:05.000006",
    "timestamptz": "2026-01-02T03:04:05.000006+00:00",
    "binary": "00ff",
    "uuid": "f79c3e09-677c-4bbd-a479-3f349cb785e7",
}


def a_document(version: int) -> dict[str, Any]:
    defaults = {kind: value for kind, value in DEFAULTS.items() if version > 2}
    fields = [{"id": 1, "name": "id", "type": "long", "required": True}]
    for number, kind in enumerate(DEFAULTS, 2):
        field = {"id": number, "name": f"c{number}", "type": kind, "required": False}
        fields.append({**field, "initial-default": defaults[kind]} if kind in defaults else field)
    before = [{**fields[0], "name": "key"}, *fields[1:3]]
    row_ids = {"first-row-id": 40, "added-rows": 2} if version > 2 else {}
    snapshot = {
        "snapshot-id": 11,
        "sequence-number": 1,
        "timestamp-ms": 1_760_000_000_000,
        "manifest-list": "s3://b/t/metadata/snap-11.avro",
        "summary": {"operation": "append", "added-records": "2"},
        "schema-id": 0,
        **row_ids,
    }
    return {
        "format-version": version,
        "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
        "location": "s3://b/t",
        "last-sequence-number": 1,
        "last-updated-ms": 1_760_000_000_000,
        "last-column-id": len(fields),
        "schemas": [
            {"type": "struct", "schema-id": 0, "fields": before},
            {"type": "struct", "schema-id": 1, "fields": fields},
        ],
        "current-schema-id": 1,
        "partition-specs": [
            {"spec-id": 0, "fields": []},
            {"spec-id": 1, "fields": [{"name": "d", "transform": "bucket[16]", "source-id": 1, "field-id": 1000}]},
        ],
        "default-spec-id": 1,
        "last-partition-id": 1000,
        "sort-orders": [
            {
                "order-id": 1,
                "fields": [{"transform": "identity", "source-id": 2, "direction": "asc", "null-order": "nulls-first"}],
            }
        ],
        "default-sort-order-id": 1,
        "properties": {"k": "v"},
        "current-snapshot-id": 11,
        "snapshots": [snapshot],
        "refs": {
            "main": {"snapshot-id": 11, "type": "branch", "max-snapshot-age-ms": 5},
            "side": {"snapshot-id": 11, "type": "branch", "min-snapshots-to-keep": 3},
            "held": {"snapshot-id": 11, "type": "tag", "max-ref-age-ms": 7},
        },
        "metadata-log": [{"metadata-file": "s3://b/t/metadata/1.json", "timestamp-ms": 1_760_000_000_000}],
        **({"next-row-id": 42} if version > 2 else {}),
    }


@pytest.mark.parametrize("version", [2, 3])
def test_pyicebergs_metadata_is_converted_to_the_original_document(version):
    written = a_document(version)
    found = document_of(TableMetadataUtil.parse_obj(written))
    (snapshot,) = written["snapshots"]
    columns = table_metadata.columns_at(written, snapshot)
    assert table_metadata.columns_at(found, found["snapshots"][0]) == columns
    assert table_metadata.columns_at(found, {}) == table_metadata.columns_at(written, {})
    assert table_metadata.renamed_since(found, columns) == table_metadata.renamed_since(written, columns) == {1}
    assert table_metadata.partition_specs(found) == table_metadata.partition_specs(written)
    assert table_metadata.clustered_by(found) == table_metadata.clustered_by(written) == (1, 2)
    assert {key: found["snapshots"][0].get(key) for key in snapshot} == snapshot


@pytest.mark.parametrize("version", [2, 3])
def test_pyicebergs_metadata_has_the_history_of_the_original_document(version):
    written = a_document(version)
    history = table_metadata.to_history(TABLE, written)
    assert table_metadata.to_history(TABLE, document_of(TableMetadataUtil.parse_obj(written))) == history
    assert history.branches == {"main": Retention(None, 5), "side": Retention(3, None)}
    assert (history.ref_ages, history.updated_ms) == ({"held": 7}, 1_760_000_000_000)


class _WithoutCredentials(BaseHTTPRequestHandler):
    """A REST catalog that cannot vend credentials. Like Polaris, it refuses to load a table for which it should."""

    def do_GET(self) -> None:
        status = 200
        answer: dict[str, Any] = {"defaults": {}, "overrides": {}}
        if self.path.endswith("/tables/flights"):
            answer = {"metadata-location": "s3://b/t/metadata/2.json", "metadata": a_document(2)}
            if self.headers.get("X-Iceberg-Access-Delegation"):
                text = "Credential vending was requested, but no credentials are available"
                status, answer = 400, {"error": {"message": text, "type": "IllegalArgumentException", "code": 400}}
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def without_credentials() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _WithoutCredentials)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_rest_catalog_is_asked_for_credentials_only_if_spark_asks_it(without_credentials: str):
    rest = {
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "rest",
        "spark.sql.catalog.lake.uri": without_credentials,
    }
    asking = {**rest, "spark.sql.catalog.lake.header.X-Iceberg-Access-Delegation": "vended-credentials"}

    found = open_reader("pyiceberg", lambda: rest, {}, _no_spark).load(TABLE)

    assert found is not None and found.table_uuid == a_document(2)["table-uuid"]
    with pytest.raises(MetadataAccessError, match="Credential vending was requested"):
        open_reader("pyiceberg", lambda: asking, {}, _no_spark).load(TABLE)


def _no_spark(sql: str) -> list[tuple[str, ...]]:
    raise AssertionError(f"asked Spark: {sql}")
