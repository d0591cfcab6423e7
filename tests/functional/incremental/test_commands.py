"""dbt's commands and flags with the materialization, and the places that show its captures."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from datetime import datetime, timezone

import pytest

from .shop import CATALOG

CHANGES = "select * from {{ ip_changes(source('raw', 'events')) }}"


@pytest.fixture
def events(shop):
    """A source with a commit that `staged` has read, a pending commit, and the model `latest`, which reads `staged`."""
    table = shop.source("events")
    shop.model("staged", CHANGES)
    shop.model(
        "latest",
        "select id, max(v) as v from {{ ip_changes(ref('staged')) }} group by id",
        incremental_strategy="merge",
        unique_key="id",
        aggregates_of_changes="allow",
    )
    shop.insert(table, "(1, 'a')")
    shop.run()
    shop.insert(table, "(2, 'b')")
    return table


def state(shop):
    return [(shop.head(shop.built(n)), shop.properties(shop.built(n))) for n in ("staged", "latest")]


@pytest.mark.core
def test_compile_and_show_commit_nothing(shop, events):
    before = state(shop)
    assert shop.dbt("compile").success
    assert f"`end-snapshot-id` = '{shop.head(events)}'" in shop.compiled("staged")
    shown = shop.dbt("show", "--select", "staged", "--output", "json")
    assert shown.success and '"id": 2' in shown.printed and '"id": 1' not in shown.printed
    assert state(shop) == before


def test_compile_before_anything_is_built(shop):
    shop.declare("events")
    shop.model("staged", CHANGES)
    assert shop.dbt("compile").success


@pytest.mark.core
def test_empty_and_sample_commit_nothing(shop, events):
    before = state(shop)
    found = shop.run("--empty")
    assert found.action("staged") == found.action("latest") == "check_only"
    assert state(shop) == before
    shop.model("staged", "select id, no_such_column from {{ ip_changes(source('raw', 'events')) }}")
    assert "no_such_column" in shop.fails("--empty")


def test_a_first_build_under_empty_is_built_again(shop):
    events = shop.source("events")
    shop.model("staged", CHANGES)
    shop.insert(events, "(1, 'a')")
    assert shop.run("--empty").action("staged") == "partial_build"
    assert shop.rows(shop.built("staged")) == Counter()
    assert shop.run().action("staged") == "rebuild"
    assert shop.rows(shop.built("staged")) == Counter([(1, "a")])


def test_sample(shop):
    table = shop.raw("timed")
    shop.sql(f"create table {table} (id int, at timestamp) using iceberg")
    shop.declare("timed", config={"event_time": "at"})
    shop.model("staged", "select * from {{ ip_changes(source('raw', 'timed')) }}")
    shop.insert(table, "(1, timestamp'2020-01-01')", "(2, now())")
    assert shop.run("--sample", "3 days").action("staged") == "partial_build"
    assert shop.rows(shop.built("staged"), "id") == Counter([(2,)])
    shop.run()
    shop.insert(table, "(3, now())")
    assert shop.run("--sample", "3 days").action("staged") == "check_only"
    shop.run()
    assert shop.rows(shop.built("staged"), "id") == Counter([(1,), (2,), (3,)])


@pytest.mark.core
def test_build_with_tests_and_unit_tests(shop, events):
    shop.write(
        "models/staged.yml",
        """
        version: 2
        models:
          - name: latest
            columns: [{name: id, data_tests: [unique, not_null]}]
        unit_tests:
          - name: the_last_value_wins
            model: latest
            given:
              - input: ref('staged')
                rows: [{id: 1, v: a}, {id: 1, v: b}]
            expect: {rows: [{id: 1, v: b}]}
        """,
    )
    found = shop.dbt("build")
    assert found.success, found.printed[-2000:]
    assert found.nodes["the_last_value_wins"].status == "pass"
    assert shop.rows(shop.built("latest")) == Counter([(1, "a"), (2, "b")])


@pytest.mark.core
def test_retry_goes_on_where_the_run_failed(shop, events):
    shop.model(
        "latest",
        "select id, raise_error('not yet') as v from {{ ip_changes(ref('staged')) }}",
        incremental_strategy="merge",
        unique_key="id",
    )
    shop.fails()
    shop.model(
        "latest",
        "select id, v from {{ ip_changes(ref('staged')) }}",
        incremental_strategy="merge",
        unique_key="id",
    )
    found = shop.dbt("retry")
    assert found.success, found.printed[-2000:]
    assert list(found.nodes) == ["latest"]
    assert shop.rows(shop.built("latest")) == Counter([(1, "a"), (2, "b")])


@pytest.mark.core
def test_defer_reads_the_changes_of_the_deferred_table(shop, events, tmp_path):
    shop.run()
    shutil.copytree(shop.folder / "target", tmp_path / "state")
    before = state(shop)
    vars_ = f"{shop.schema}_dev"
    profile = (shop.folder / "profiles.yml").read_text().replace(f"schema: {shop.schema}\n", f"schema: {vars_}\n")
    (shop.folder / "profiles.yml").write_text(profile)
    found = shop.dbt("run", "--select", "latest", "--defer", "--state", str(tmp_path / "state"))
    assert found.success, found.printed[-2000:]
    assert list(found.ip("latest")["sources"]) == [f"{CATALOG}.{shop.schema}.staged"]
    assert shop.rows(f"{CATALOG}.`{vars_}`.`latest`") == Counter([(1, "a"), (2, "b")])
    assert state(shop) == before

    own = f"{CATALOG}.{vars_}.staged"
    assert shop.dbt("run", "--select", "staged").success
    shop.sql(f"insert into {own} values (3, 'c')")
    found = shop.dbt("build", "--full-refresh", "--select", "latest", "--defer", "--state", str(tmp_path / "state"))
    assert found.success, found.printed[-2000:]
    assert list(found.ip("latest")["sources"]) == [own]
    assert shop.rows(f"{CATALOG}.`{vars_}`.`latest`") == Counter([(1, "a"), (2, "b"), (3, "c")])


def test_four_threads(shop):
    tables = [shop.source(f"events_{n}") for n in range(8)]
    for n in range(8):
        shop.model(f"staged_{n}", f"select * from {{{{ ip_changes(source('raw', 'events_{n}')) }}}}")
    for round_ in range(2):
        for n, table in enumerate(tables):
            shop.insert(table, f"({round_}, 'of {n}')")
        shop.run("--threads", "4")
    for n in range(8):
        assert shop.rows(shop.built(f"staged_{n}")) == Counter([(0, f"of {n}"), (1, f"of {n}")])
        (source,) = shop.checkpoint(shop.built(f"staged_{n}"))["sources"]
        assert source == f"{CATALOG}.{shop.source_schema}.events_{n}"


@pytest.mark.core
def test_what_run_results_and_log_say(shop, events):
    found = shop.run()
    source = f"{CATALOG}.{shop.source_schema}.events"
    (result,) = [r for r in shop.run_results()["results"] if r["unique_id"] == "model.shop.staged"]
    response = result["adapter_response"]
    assert response["rows_affected"] == 1
    captured = response["ip"]["sources"][source]
    position = captured.pop("from_snapshot_id")
    size = captured.pop("bytes")
    whole = captured.pop("table_bytes")
    assert 0 < captured.pop("share_of_bytes") == round(size / whole, 6) < 1
    assert captured == {
        "kind": "append", "to_snapshot_id": shop.head(events), "snapshots": 1, "files": 1, "records": 1,
        "table_records": 2, "share_of_records": 0.5,
    }  # fmt: skip
    assert size > 0
    expected = f"captured {source}: 1 snapshot, 1 file, 1 row, {size} B (append) {str(position)[:3]}…→"
    assert expected in found.printed


@pytest.mark.core
def test_the_docs_have_lineage_and_checkpoint(shop, events):
    shop.run()
    assert shop.dbt("docs", "generate").success
    catalog = json.loads((shop.folder / "target" / "catalog.json").read_text())
    manifest = json.loads((shop.folder / "target" / "manifest.json").read_text())
    stats = catalog["nodes"]["model.shop.staged"]["stats"]
    assert stats["ip_epoch"]["value"] == 2
    (position,) = shop.checkpoint(shop.built("staged"))["sources"].values()
    seconds = datetime.fromtimestamp(position["timestamp_ms"] // 1000, timezone.utc)
    assert stats["ip_source_1"]["value"] == f"{shop.head(events)} ({seconds:%Y-%m-%d %H:%M:%S} UTC)"
    assert manifest["parent_map"]["model.shop.latest"] == ["model.shop.staged"]
    assert manifest["parent_map"]["model.shop.staged"] == ["source.shop.raw.events"]


def test_status(shop, events):
    text = shop.operation("ip_status")
    assert text.success
    assert "model.shop.staged" in text.printed and "pending (append): 1 snapshot, 1 file, 1 row," in text.printed
    statuses = shop.statuses()
    assert statuses["staged"]["next_run"] == "applies what is pending"
    assert statuses["staged"]["sources"][0]["records"] == 1
    assert statuses["latest"]["next_run"] == "nothing to do"
    shop.sql(f"delete from {events} where id = 1")
    assert "fails" in shop.operation("ip_status").printed
    assert not shop.operation("ip_status", format="xml").success


@pytest.mark.core
def test_nothing_new_sends_no_statement_for_the_models(shop, events):
    shop.run()
    printed = shop.run().printed
    sent = [line for line in printed.splitlines() if line.startswith("On model.shop.") and "/*" in line]
    assert sent == []


def test_status_of_some_models(shop, events):
    for select, expected in (
        ("staged", {"staged"}),
        ("late* staged", {"staged", "latest"}),
        ("path:models", {"staged", "latest"}),
    ):
        found = shop.operation("ip_status", select=select)
        assert found.success
        shown = {name for name in ("staged", "latest") if f"model.shop.{name} (" in found.printed}
        assert shown == expected
    assert "matches no model" in shop.operation("ip_status", select="nobody").printed


def test_status_of_a_model_that_was_cloned(shop, events, tmp_path):
    """A view as a clone: the next run builds the table in its place, and the status announces that."""
    shop.model("staged", CHANGES, clone_as="view")
    shutil.copytree(shop.folder / "target", tmp_path / "state")
    dev = f"{shop.schema}_dev"
    profile = (shop.folder / "profiles.yml").read_text().replace(f"schema: {shop.schema}\n", f"schema: {dev}\n")
    (shop.folder / "profiles.yml").write_text(profile)
    assert shop.dbt("clone", "--select", "staged", "--state", str(tmp_path / "state")).success
    said = shop.operation("ip_status", select="staged").printed
    assert "builds the whole table (a view has the name of its table, as after dbt clone" in said
    assert "fails" not in said
    assert shop.run("--select", "staged").action("staged") == "rebuild"
    assert shop.rows(f"{CATALOG}.`{dev}`.`staged`") == Counter([(1, "a"), (2, "b")])


def test_a_copy_that_was_cloned_has_no_checkpoint(shop, events, tmp_path):
    """The copy has the rows of another table, so its next run does not continue from that table's checkpoint."""
    shutil.copytree(shop.folder / "target", tmp_path / "state")
    dev = f"{shop.schema}_copy"
    profile = (shop.folder / "profiles.yml").read_text().replace(f"schema: {shop.schema}\n", f"schema: {dev}\n")
    (shop.folder / "profiles.yml").write_text(profile)
    project = (shop.folder / "dbt_project.yml").read_text()
    (shop.folder / "dbt_project.yml").write_text(f"{project}models:\n  +clone_as: table\n")
    assert shop.dbt("clone", "--select", "staged", "--state", str(tmp_path / "state")).success
    copy = f"{CATALOG}.`{dev}`.`staged`"
    assert shop.rows(copy) == shop.rows(shop.built("staged"))
    assert "ip.checkpoint" not in shop.properties(copy)
    assert "it has no checkpoint" in shop.fails("--select", "staged")
    assert shop.run("--select", "staged", "--full-refresh").action("staged") == "rebuild"
