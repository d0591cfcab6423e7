"""``watch`` on real tables: it builds due nodes, retries failures, and stops cleanly on signals."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time

import pytest

from .watching import PATIENCE

CHANGES = "select id, v from {{{{ ip_changes(source('raw', '{0}')) }}}}"
MERGE = {"incremental_strategy": "merge", "unique_key": "id"}
MIRROR = {"incremental_strategy": "apply_changes", "unique_key": "id"}


def metric(file, name, model=None):
    """The value of a metric in a Prometheus text file."""
    labels = f'{{model="model.shop.{model}"}}' if model else ""
    found = re.search(rf"^dbt_spark_iceberg_{name}{labels} (\S+)$", file.read_text(), re.MULTILINE)
    return None if found is None else float(found[1])


def is_built(shop, name):
    return shop.session.catalog.tableExists(f"{shop.catalog}.{shop.schema}.{name}")


SNAPSHOT = """
    {% snapshot versions %}
    {{ config(unique_key='id', strategy='check', check_cols=['v']) }}
    select id, v from {{ ref('latest') }}
    {% endsnapshot %}
"""


def three_stages(shop):
    source = shop.source("events")
    shop.model("staged", CHANGES.format("events"))
    shop.model("latest", "select id, v from {{ ip_changes(ref('staged')) }}", **MERGE)
    shop.model("mirror", "select id, v, _change_type from {{ ip_changelog(ref('latest'), unique_key='id') }}", **MIRROR)
    shop.model("counted", "select count(*) as n from {{ ref('mirror') }}", materialized="table")
    tests = {"version": 2, "models": [{"name": "staged", "columns": [{"name": "id", "data_tests": ["not_null"]}]}]}
    shop.write("models/tests.yml", str(tests))
    return source


@pytest.mark.core
def test_three_stages_follow_a_commit(shop, watch, tmp_path):
    source = three_stages(shop)
    shop.write("snapshots/versions.sql", SNAPSHOT)
    shop.insert(source, "(1, 'a')", "(2, 'b')")
    metrics = tmp_path / "metrics.prom"
    page = tmp_path / "status.html"

    watching = watch("--metrics-file", str(metrics), "--status-page", str(page), "--maintain-every", "1s")
    watching.until(lambda: watching.events("RunEnded"))
    assert shop.rows(shop.built("mirror")) == {(1, "a"): 1, (2, "b"): 1}

    shop.insert(source, "(3, 'c')")
    watching.until(lambda: len(watching.events("RunEnded")) == 2)
    assert shop.rows(shop.built("mirror"))[3, "c"] == 1
    assert shop.rows(shop.built("counted")) == {(3,): 1}
    started = watching.events("RunStarted")[-1]
    assert started["due"] == ["model.shop.staged"]
    models = [f"model.shop.{name}" for name in ("counted", "latest", "mirror", "staged")]
    assert started["nodes"] == [*models, "snapshot.shop.versions"]
    (tested, *_) = [each for each in watching.events("LogTestResult") if each["name"] == "not_null_staged_id"]
    assert tested["status"] == "pass"

    looks = metrics.read_text()
    watching.until(lambda: metrics.read_text() != looks)
    assert metric(metrics, "pending_rows", "mirror") == metric(metrics, "lag_seconds", "mirror") == 0
    watching.until(lambda: "4 of 4 models" in page.read_text())  # one of the four is the snapshot
    assert ">versions<" in page.read_text()
    watching.until(lambda: "nothing to do" in watching.log())
    assert not watching.events("ChoreFailed")
    assert metric(metrics, "failures_total", "mirror") == 0
    assert time.time() - metric(metrics, "last_success_timestamp_seconds", "mirror") < 60

    # a compaction moves the checkpoint of its reader, and has no effect on models behind it
    shop.sql(
        f"call {shop.catalog}.system.rewrite_data_files(table => '{source}', options => map('rewrite-all','true'))"
    )
    watching.until(lambda: len(watching.events("RunEnded")) == 3)
    assert shop.checkpoint(shop.built("staged"))  # still exists
    time.sleep(2)
    assert len(watching.events("RunStarted")) == 3  # no new rows, so no run
    assert watching.stop() == 0
    assert watching.events("Stopped")


def test_a_failing_model_is_retried_while_others_continue(shop, watch):
    """One model fails when it runs. For another one, the metadata show that it would fail."""
    source = shop.source("events")
    rewritten = shop.source("rewritten")
    switch = shop.source("switch")
    for table in (source, rewritten):
        shop.insert(table, "(1, 'a')")
    fails = f"{CHANGES.format('events')} where (select count(*) from {switch}) > 0 or raise_error('off') is not null"
    shop.model("good", CHANGES.format("events"))
    shop.model("bad", fails)
    shop.model("behind", "select id, v from {{ ip_changes(ref('bad')) }}")
    shop.model("broken", CHANGES.format("rewritten"))
    shop.run("--select", "broken")
    shop.sql(f"update {rewritten} set v = 'z'")

    watching = watch("--retry-after", "1s")
    watching.until(lambda: len(watching.failures("bad")) >= 2)

    assert shop.rows(shop.built("good")) == {(1, "a"): 1}
    assert "off" in watching.failures("bad")[0]["error"]
    assert [each["failures"] for each in watching.failures("bad")][:2] == [1, 2]
    assert not watching.failures("behind")
    (foreseen,) = watching.failures("broken")
    assert "More: dbt-spark-iceberg explain rewritten" in foreseen["error"]
    assert not any("model.shop.broken" in started["nodes"] for started in watching.events("RunStarted"))

    shop.insert(source, "(2, 'b')")
    watching.until(lambda: shop.rows(shop.built("good"))[2, "b"] == 1)
    shop.insert(switch, "(1, 'on')")
    shop.operation("ip_set_checkpoint", model="broken", source=str(shop.raw("rewritten")).replace("`", ""),
                   snapshot_id=shop.head(rewritten))  # fmt: skip
    shop.insert(rewritten, "(2, 'b')")
    watching.until(lambda: watching.events("RunEnded")[-1]["outcome"] == "success")
    watching.until(lambda: shop.rows(shop.built("broken"))[2, "b"] == 1)
    watching.until(lambda: is_built(shop, "behind") and shop.rows(shop.built("behind")).total() == 2)
    assert shop.rows(shop.built("bad")) == shop.rows(shop.built("behind")) == {(1, "a"): 1, (2, "b"): 1}
    assert watching.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.thorough)])
def test_a_signal_rolls_back_the_current_statement_and_a_restart_continues(shop, watch, number):
    source = shop.source("events")
    shop.model(
        "slow",
        f"""{CHANGES.format("events")}
        where reflect('java.lang.Thread', 'sleep', bigint({{{{ env_var('SLEEP_MS', '0') }}}})) is not null""",
    )
    shop.insert(source, "(1, 'a')")
    shop.run()
    before = shop.checkpoint(shop.built("slow"))
    shop.insert(source, "(2, 'b')")

    metrics, page = shop.folder / "metrics.prom", shop.folder / "status.html"
    watching = watch("--metrics-file", str(metrics), "--status-page", str(page), SLEEP_MS="300000")
    watching.until(lambda: watching.events("LogStartLine"))
    # meanwhile, the metrics and the page are updated
    oldest = metric(metrics, "oldest_pending_timestamp_seconds", "slow")
    assert time.time() - 600 < oldest < metric(metrics, "run_started_timestamp_seconds") < time.time()
    watching.until(lambda: "A run is in progress: 1 node" in page.read_text())
    lag = metric(metrics, "lag_seconds", "slow")
    shop.insert(source, "(3, 'c')")
    watching.until(lambda: metric(metrics, "pending_rows", "slow") == 2)
    assert metric(metrics, "lag_seconds", "slow") > lag
    assert metric(metrics, "oldest_pending_timestamp_seconds", "slow") == oldest
    assert watching.stop(number) == 0
    assert watching.events("RunEnded")[-1]["outcome"] == "stopped"
    assert watching.events("Stopped")
    assert "Traceback" not in watching.log()
    assert shop.checkpoint(shop.built("slow")) == before
    assert shop.rows(shop.built("slow")) == {(1, "a"): 1}

    again = watch()
    again.until(lambda: again.events("RunEnded"))
    assert shop.rows(shop.built("slow")) == {(1, "a"): 1, (2, "b"): 1, (3, "c"): 1}
    assert shop.checkpoint(shop.built("slow"))["epoch"] == before["epoch"] + 1
    assert again.stop() == 0


@pytest.mark.thorough
def test_a_spark_that_was_killed_ends_watch_and_a_restart_continues(shop, watch):
    source = shop.source("events")
    shop.model("staged", CHANGES.format("events"))
    shop.insert(source, "(1, 'a')")
    watching = watch()
    watching.until(lambda: watching.events("RunEnded"))
    java = subprocess.run(
        ["pgrep", "-P", str(watching.process.pid), "java"], capture_output=True, text=True, check=True
    )

    os.kill(int(java.stdout), signal.SIGKILL)
    shop.insert(source, "(2, 'b')")

    assert watching.process.wait(PATIENCE) == 1
    assert "More: dbt-spark-iceberg explain spark-has-ended" in watching.log()
    again = watch()
    again.until(lambda: again.events("RunEnded"))
    assert shop.rows(shop.built("staged")) == {(1, "a"): 1, (2, "b"): 1}


def test_consecutive_commits_are_processed_together(shop, watch):
    source = shop.source("events")
    shop.model("staged", CHANGES.format("events"))
    shop.insert(source, "(0, 'a')")
    watching = watch("--debounce", "3s", "--max-batch", "4")
    watching.until(lambda: watching.events("RunEnded"))

    for number in range(1, 4):
        shop.insert(source, f"({number}, 'a')")
    watching.until(lambda: len(watching.events("RunEnded")) == 2)

    assert shop.rows(shop.built("staged")).total() == 4
    assert shop.checkpoint(shop.built("staged"))["epoch"] == 2
    assert watching.stop() == 0


def test_a_restart_keeps_models_held_back_by_a_failing_test(shop, watch):
    source = three_stages(shop)
    shop.insert(source, "(1, 'a')")
    watching = watch()
    watching.until(lambda: watching.events("RunEnded"))
    shop.insert(source, "(null, 'b')")
    watching.until(lambda: watching.failures("staged"))
    assert watching.stop() == 0

    watching = watch("--retry-after", "1s")
    watching.until(lambda: len(watching.failures("staged")) == 2)
    for built in ("latest", "mirror"):
        assert shop.rows(shop.built(built)) == {(1, "a"): 1}
    assert shop.rows(shop.built("counted")) == {(1,): 1}


def test_a_failed_audit_does_not_make_a_related_model_fail(shop, watch):
    """A test between the two models would compare new rows with the old rows of the waiting model."""
    parents, children = shop.source("parents"), shop.source("children")
    shop.model("waiting", CHANGES.format("parents"), audit=True, on_source_rewrite="full_refresh")
    shop.model("neighbour", CHANGES.format("children"))
    related = {"relationships": {"arguments": {"to": "ref('waiting')", "field": "id"}}}
    columns = {"waiting": ["not_null"], "neighbour": [related]}
    models = [{"name": name, "columns": [{"name": "id", "data_tests": tests}]} for name, tests in columns.items()]
    shop.write("models/tests.yml", str({"version": 2, "models": models}))
    for table in (parents, children):
        shop.insert(table, "(1, 'a')")
    watching = watch("--retry-after", "30s")
    watching.until(lambda: watching.events("RunEnded"))
    shop.insert(parents, "(2, 'b')", "(null, 'bad')")
    watching.until(lambda: watching.failures("waiting"))

    shop.insert(children, "(2, 'b')")
    watching.until(lambda: shop.rows(shop.built("neighbour"))[2, "b"] == 1)
    shop.sql(f"delete from {parents} where id is null")
    watching.until(lambda: shop.rows(shop.built("waiting")) == {(1, "a"): 1, (2, "b"): 1})
    watching.until(lambda: watching.events("RunEnded")[-1]["done"] == ["model.shop.waiting"])
    assert not watching.failures("neighbour")
    assert len(watching.failures("waiting")) == 1  # the commit did not shorten the wait
    tested = [each["status"] for each in watching.events("LogTestResult") if each["name"].startswith("relationships")]
    assert tested == ["pass", "pass"]  # after the first build, and once both have their rows
    assert watching.stop() == 0
