"""The Prometheus metrics, in a file and over HTTP."""

from __future__ import annotations

import math
import socket
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from dbt.adapters.spark_iceberg.status.live import Failure
from dbt.adapters.spark_iceberg.watch.metrics import Metrics
from iceberg_incremental.errors import ConfigError

from .statuses import status, up_to_date

A, B = "model.shop.a", "model.shop.b"
FAILING = Failure("no", foreseen=False, failures=1, since=1.0, retry_at=6.0)
OTHER_LOOPBACK = "127.0.0.2"


def samples(text):
    return {
        (sample.name.removeprefix("dbt_spark_iceberg_"), *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def test_the_file_and_the_port_have_the_same_metrics(tmp_path):
    file, port = tmp_path / "m.prom", free_port()
    metrics = Metrics(file, port)
    pending = status(A, commits=3, rows=40, since=900_000)
    metrics.failed(A)
    metrics.succeeded(B, 950.0)
    metrics.show({A: pending, B: up_to_date(B)}, {A: FAILING}, run_started=990.0, now=1_000.0)
    metrics.looked(now=1_000.0, took=0.25)
    metrics.ran("failure", 5.0)
    metrics.write()

    found = samples(file.read_text())
    assert math.isnan(found.pop(("oldest_pending_timestamp_seconds", B)))

    assert found == {
        ("oldest_pending_timestamp_seconds", A): 900, ("run_started_timestamp_seconds",): 990,
        ("lag_seconds", A): 100, ("lag_seconds", B): 0,
        ("pending_rows", A): 40, ("pending_rows", B): 0,
        ("pending_commits", A): 3, ("pending_commits", B): 0,
        ("failing", A): 1, ("failing", B): 0,
        ("failures_total", A): 1, ("failures_total", B): 0,
        ("last_success_timestamp_seconds", B): 950,
        ("runs_total", "failure"): 1,
        ("run_duration_seconds_count",): 1, ("run_duration_seconds_sum",): 5,
        ("poll_duration_seconds_count",): 1, ("poll_duration_seconds_sum",): 0.25,
        ("last_poll_timestamp_seconds",): 1_000,
    }  # fmt: skip
    assert [path.name for path in tmp_path.iterdir()] == ["m.prom"]
    with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        served = samples(answer.read().decode())
    assert math.isnan(served.pop(("oldest_pending_timestamp_seconds", B)))
    assert served == found


def test_a_failing_node_is_reported_until_it_is_fixed(tmp_path):
    file = tmp_path / "m.prom"
    metrics = Metrics(file)
    unknown = status(A, error="no")
    for failing, value in (({"model.shop.view": FAILING, A: FAILING}, 1), ({}, 0)):
        metrics.show({A: unknown}, failing, run_started=None, now=1_000.0)
        metrics.write()
        found = samples(file.read_text())
        assert found[("failing", "model.shop.view")] == found[("failing", A)] == value
    assert math.isnan(found[("lag_seconds", A)])
    assert math.isnan(found[("run_started_timestamp_seconds",)])


def test_a_model_that_is_no_longer_watched_has_no_lag(tmp_path):
    file = tmp_path / "m.prom"
    metrics = Metrics(file)
    for statuses in ({A: up_to_date(A), B: up_to_date(B)}, {B: up_to_date(B)}):
        metrics.show(statuses, {}, None, 1_000.0)
    metrics.write()
    assert [key for key in samples(file.read_text()) if key[0] == "lag_seconds"] == [("lag_seconds", B)]


def test_the_port_is_served_on_one_address():
    port = free_port()
    Metrics(port=port)
    with pytest.raises(OSError, match="refused"), socket.create_connection((OTHER_LOOPBACK, port), timeout=5):
        pass
    everywhere = free_port()
    Metrics(port=everywhere, address="0.0.0.0")
    with socket.create_connection((OTHER_LOOPBACK, everywhere), timeout=5):
        pass
    with pytest.raises(ConfigError, match=r"cannot be served on 192\.0\.2\.1, port "):
        Metrics(port=free_port(), address="192.0.2.1")  # an address for documentation, which no machine has


def test_a_file_that_cannot_be_written(tmp_path):
    with pytest.raises(ConfigError, match=r"(?s)were not written to .*m.prom: .*No such file.*correct --metrics-file"):
        Metrics(tmp_path / "missing" / "m.prom").write()


def test_a_port_that_is_in_use():
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", 0))
        taken.listen()
        with pytest.raises(ConfigError, match=r"metrics cannot be served on .*Address already in use"):
            Metrics(port=taken.getsockname()[1])
