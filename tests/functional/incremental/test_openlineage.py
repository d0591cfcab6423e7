"""The OpenLineage events that a real project sends to a receiver, with the official client over HTTP.

If OPENLINEAGE_SPEC is the folder ``spec`` of an OpenLineage checkout, each event is also validated by its schemas.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker  # type: ignore[import-untyped]
from referencing import Registry, Resource

pytest.importorskip("openlineage.client", reason="the extra openlineage is not installed")

SPEC = os.environ.get("OPENLINEAGE_SPEC")
RUN, OTHER = "01234567-89ab-4def-8123-456789abcdef", "11234567-89ab-4def-8123-456789abcdef"


class Receiver:
    """An HTTP server that records the requests that it receives. ``status``: its response."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.status = 201
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.events.append({"path": self.path, **json.loads(body)})
                self.send_response(receiver.status)
                self.end_headers()

            def log_message(self, *args: Any) -> None:
                """Log nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def taken(self) -> dict[tuple[str, str], dict[str, Any]]:
        """The events since the last call, by the name of their job and their type, in their order."""
        found, self.events = self.events, []
        assert {event.pop("path") for event in found} <= {"/api/v1/lineage"}
        validate(found)
        named = {(event["job"]["name"].rpartition(".")[2], event["eventType"]): event for event in found}
        assert len(named) == len(found)
        return named


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    found = Receiver()
    for name in [name for name in os.environ if name.startswith("OPENLINEAGE")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OPENLINEAGE_URL", found.url)
    # the client sets it, so it must be removed after the test
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TRANSPORTS__DEFAULT_HTTP__URL", found.url)
    threading.Thread(target=found.server.serve_forever, daemon=True).start()
    yield found
    found.server.shutdown()
    found.server.server_close()


def validate(events: list[dict[str, Any]]) -> None:
    """Validate events and all of their facets with the schemas of the specification."""
    if SPEC is None:
        return
    files = [Path(SPEC) / "OpenLineage.json", *(Path(SPEC) / "facets").glob("*.json")]
    schemas = {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in files}
    registry = Registry().with_resources((each["$id"], Resource.from_contents(each)) for each in schemas.values())

    def check(schema: str, value: Any) -> None:
        Draft202012Validator(schemas[schema], registry=registry, format_checker=FormatChecker()).validate(value)

    for event in events:
        check("OpenLineage", event)
        datasets = event["inputs"] + event["outputs"]
        with_facets = [(event["run"], "facets"), (event["job"], "facets"), *((each, "facets") for each in datasets)]
        with_facets += [(each, "inputFacets") for each in event["inputs"]]
        with_facets += [(each, "outputFacets") for each in event["outputs"]]
        for holder, key in with_facets:
            for name, facet in holder[key].items():
                schema = facet["_schemaURL"].rpartition("/")[2]
                assert name in schemas[schema]["properties"]
                check(schema, {name: facet})


def version(dataset: dict[str, Any]) -> str | None:
    return dataset["facets"].get("version", {}).get("datasetVersion")


def numbers(dataset: dict[str, Any], kind: str) -> dict[str, int]:
    facet = dataset[f"{kind}Facets"].get(f"{kind}Statistics", {})
    return {key: value for key, value in facet.items() if not key.startswith("_")}


def heads(shop: Any) -> tuple[str, ...]:
    return tuple(str(shop.head(table)) for table in (shop.raw("events"), shop.built("staged"), shop.built("copied")))


def read_and_written(event: dict[str, Any]) -> tuple[list[str | None], list[str | None]]:
    return [version(each) for each in event["inputs"]], [version(each) for each in event["outputs"]]


@pytest.mark.core
def test_the_events_of_a_project_s_runs(shop, receiver, monkeypatch):
    table = shop.source("events")
    shop.insert(table, "(1, 'a')")
    shop.model("staged", "select id, upper(v) as v from {{ ip_changes(source('raw', 'events')) }} as e")
    shop.model("seen", "select * from {{ ref('staged') }}", materialized="view")
    shop.model("copied", "select v, count(*) as n from {{ ref('seen') }} group by v", materialized="table")
    monkeypatch.setenv("OPENLINEAGE_PARENT_ID", f"airflow/dag.task/{RUN}")
    monkeypatch.setenv("OPENLINEAGE_ROOT_PARENT_ID", f"airflow/dag/{OTHER}")

    shop.run()  # the first build
    found = receiver.taken()
    assert list(found) == [
        ("dbt-run-shop", "START"),
        ("staged", "START"),
        ("staged", "COMPLETE"),
        ("copied", "START"),
        ("copied", "COMPLETE"),
        ("dbt-run-shop", "COMPLETE"),
    ]
    command, staged, copied = (found[name, "COMPLETE"] for name in ("dbt-run-shop", "staged", "copied"))
    assert command["run"]["runId"] == shop.run_results()["metadata"]["invocation_id"]
    assert command["run"]["facets"]["parent"]["run"]["runId"] == RUN
    for event in (staged, copied):
        parent = event["run"]["facets"]["parent"]
        assert parent["run"]["runId"] == command["run"]["runId"] and parent["root"]["run"]["runId"] == OTHER
        assert event["job"]["facets"]["jobType"]["jobType"] == "MODEL"
    assert found["staged", "START"]["run"]["runId"] == staged["run"]["runId"]
    source, of_staged, of_copied = heads(shop)
    assert read_and_written(staged) == ([source], [of_staged])
    assert read_and_written(copied) == ([of_staged], [of_copied])  # through the view
    (read,), (built,) = staged["inputs"], staged["outputs"]
    assert (read["namespace"], Path(read["name"]).name) == ("file", "events")
    assert (built["namespace"], built["name"]) == tuple(copied["inputs"][0][key] for key in ("namespace", "name"))
    assert built["facets"]["symlinks"]["identifiers"][0]["name"] == f"{shop.schema}.staged"
    assert built["facets"]["catalog"]["name"] == shop.catalog
    assert [(each["name"], each["type"]) for each in built["facets"]["schema"]["fields"]] == [
        ("id", "int"),
        ("v", "string"),
    ]
    assert origins(built) == {"id": [("events", "id", "IDENTITY")], "v": [("events", "v", "TRANSFORMATION")]}
    assert "columnLineage" not in copied["outputs"][0]["facets"]  # its SQL names the view
    assert "upper(v)" in staged["job"]["facets"]["sql"]["query"]
    assert numbers(built, "output")["rowCount"] == 1

    shop.insert(table, "(2, 'b'), (3, 'c')")  # an incremental run
    shop.run("--select", "staged")
    staged = receiver.taken()["staged", "COMPLETE"]
    assert read_and_written(staged) == ([heads(shop)[0]], [heads(shop)[1]]) != ([source], [of_staged])
    assert numbers(staged["inputs"][0], "input")["rowCount"] == numbers(staged["outputs"][0], "output")["rowCount"] == 2
    assert origins(staged["outputs"][0])["v"] == [("events", "v", "TRANSFORMATION")]

    before = heads(shop)  # a run without new rows
    shop.run("--select", "staged")
    staged = receiver.taken()["staged", "COMPLETE"]
    assert read_and_written(staged) == ([before[0]], [before[1]])
    assert numbers(staged["outputs"][0], "output") == {"rowCount": 0, "size": 0, "fileCount": 0}

    shop.model(
        "copied",
        "select cast(raise_error('no such luck') as string) as v from {{ ref('staged') }}",
        materialized="table",
    )
    shop.model("last", "select * from {{ ref('copied') }}", materialized="table")
    shop.fails("--select", "copied", "last")
    found = receiver.taken()
    failed = found["copied", "FAIL"]
    assert "no such luck" in failed["run"]["facets"]["errorMessage"]["message"]
    assert read_and_written(failed) == ([before[1]], [None])
    assert ("last", "ABORT") in found and ("dbt-run-shop", "FAIL") in found


def origins(dataset: dict[str, Any]) -> dict[str, list[tuple[str, str, str]]]:
    """The table, the column and the kind of each input of a dataset's columns."""
    return {
        column: [
            (Path(each["name"]).name, each["field"], each["transformations"][0]["subtype"])
            for each in lineage["inputFields"]
        ]
        for column, lineage in dataset["facets"]["columnLineage"]["fields"].items()
    }


def test_seeds_and_snapshots(shop, receiver):
    shop.write("seeds/codes.csv", "id,name\n1,a\n2,b\n")
    shop.write(
        "snapshots/kept.yml",
        """
        snapshots:
          - name: kept
            relation: ref('codes')
            config: {unique_key: id, strategy: check, check_cols: all}
        """,
    )
    assert shop.dbt("build").success
    found = receiver.taken()
    seed, kept = found["codes", "COMPLETE"], found["kept", "COMPLETE"]
    assert [event["job"]["facets"]["jobType"]["jobType"] for event in (seed, kept)] == ["SEED", "SNAPSHOT"]
    assert read_and_written(seed) == ([], [str(shop.head(shop.built("codes")))])
    assert read_and_written(kept) == ([version(seed["outputs"][0])], [str(shop.head(shop.built("kept")))])
    assert numbers(kept["outputs"][0], "output")["rowCount"] == 2


def test_a_receiver_that_refuses_events_causes_one_warning(shop, receiver):
    receiver.status = 403
    shop.insert(shop.source("events"), "(1, 'a')")
    shop.model("staged", "select * from {{ ip_changes(source('raw', 'events')) }}")
    found = shop.run()
    assert found.action("staged") == "rebuild"
    assert found.printed.count("OpenLineage: not all events of this command were sent") == 1
    assert "403" in found.printed
    assert len(receiver.events) == 1


def test_nothing_is_sent_if_disabled(shop, receiver, monkeypatch):
    monkeypatch.setenv("OPENLINEAGE_DISABLED", "true")
    shop.insert(shop.source("events"), "(1, 'a')")
    shop.model("staged", "select * from {{ ip_changes(source('raw', 'events')) }}")
    shop.run()
    assert not receiver.events
