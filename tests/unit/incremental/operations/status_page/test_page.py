"""The page is a single file, contains all of the status, and escapes names."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from dbt.adapters.spark_iceberg.status.live import Failure, Live, RunInProgress
from dbt.adapters.spark_iceberg.status.project_status import ProjectStatus, as_json, with_failures
from dbt.adapters.spark_iceberg.status_page import write_page
from dbt.adapters.spark_iceberg.status_page.page import page
from iceberg_incremental.errors import ConfigError
from iceberg_incremental.table.row_counts import VersionCounts

from .airline import ERROR, NOW, airline

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>'\"&{{ 7 * 7 }}${7}"


class Parsed(HTMLParser):
    """The elements of a page with their attributes, and its text without scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text, self.scripts = "", [""]
        self._within = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._within = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self._within = ""

    def handle_data(self, data):
        if self._within == "script":
            self.scripts[-1] += data
        elif self._within != "style":
            self.text += data

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def parsed() -> Parsed:
    return Parsed(page(airline()))


def renamed(status: ProjectStatus, old: str, new: str) -> ProjectStatus:
    """Replace a word in all texts of a status."""

    def changed(value):
        if isinstance(value, str):
            return value.replace(old, new)
        if isinstance(value, list | tuple):
            return [changed(each) for each in value]
        if hasattr(value, "__dataclass_fields__"):
            return replace(value, **{name: changed(getattr(value, name)) for name in value.__dataclass_fields__})
        return value

    return changed(status)


def test_the_page_loads_no_other_file(parsed):
    for _, attributes in parsed.elements:
        for key in ("src", "href", "srcset", "data", "action"):
            value = attributes.get(key) or ""
            assert value == "" or value.startswith(("#", "data:"))
    (policy,) = [each["content"] for each in parsed.all("meta") if "http-equiv" in each]
    assert policy.startswith("default-src 'none'")


def test_the_page_contains_the_status(parsed):
    text = " ".join(parsed.text.split())
    for said in (
        "1 of 5 models",
        "2 behind, 1 to be rebuilt, 1 failing",
        "2 commits, 5,548 rows, 162.5 KiB",
        "2026-01-15 19:00:00 UTC (in 7 hours)",
        "26 %",
        "The largest lateness is 2 days, in 8 commits.",
        " ".join(ERROR.split()),
        "dbt run --full-refresh --select weather_hours",
        "dbt build ended at 2026-01-15 11:00:00 UTC after 24.6 s: 4 nodes, 1 failed.",
        "delays_are_not_negativetestfail1.1 s3 rows failed",
        "late_flightsviewsuccess0.4 s–",
        "run 8 of 2026-01-14 14:00:00 UTC added 2,811 rows and removed 0 in 7.8 s",
    ):
        assert said in text


def test_each_chart_has_a_description_and_a_table(parsed):
    charts = [each for each in parsed.all("div") if each.get("role") == "img"]
    ids = {attributes.get("id") for _, attributes in parsed.elements}
    figures = [json.loads(each) for each in parsed.scripts if each.startswith("{")]
    assert (
        len(charts)
        == len(figures)
        == len([each for each in parsed.all("details") if each.get("class") == "numbers"])
        == 9
    )
    assert {each["aria-labelledby"] for each in charts} <= ids


def test_a_model_with_mixed_logic_is_marked():
    status = airline()
    changed = replace(status.models[0], status=replace(status.models[0].status, logic_changed_since=7))
    assert "logic changed since run" not in page(status)
    assert "logic changed since run 7" in page(replace(status, models=[changed, *status.models[1:]]))


def test_the_versions_of_a_history():
    status = airline()
    written = VersionCounts(3, 2)
    runs = [replace(each, versions=written) for each in status.models[0].runs]
    model = replace(status.models[0], runs=runs, status=replace(status.models[0].status, versions=written))
    assert "last run that wrote rows" not in page(status)
    found = page(replace(status, models=[model, *status.models[1:]]))
    assert "last run that wrote rows: 3 versions added, 2 ended or updated" in found
    assert f"{3 * len(runs)} versions added by {len(runs)} runs." in found


def test_each_box_links_to_the_section_of_its_model(parsed):
    links = [each["href"][1:] for each in parsed.all("a") if "node" in (each.get("class") or "")]
    sections = {each["id"] for each in parsed.all("details") if each.get("id")}
    assert len(links) == 2 * len(sections) == 10  # once each for wide and narrow screens
    assert set(links) == sections


@pytest.mark.parametrize("part", ["flights_latest", "airline", "ops", "weather_hours"])
def test_hostile_names_are_escaped(parsed, part):
    found = Parsed(page(renamed(airline(), part, HOSTILE)))
    assert HOSTILE in found.text
    assert [tag for tag, _ in found.elements] == [tag for tag, _ in parsed.elements]
    assert [each.keys() for _, each in found.elements] == [each.keys() for _, each in parsed.elements]


def test_a_project_without_models():
    found = Parsed(page(ProjectStatus("empty", NOW, [], [], [])))
    assert "No model of this project is materialized" in found.text
    assert "0 of 0 models" in found.text
    assert "The results of tests, views and other nodes are not known." in found.text


def test_sections_of_many_models_are_collapsed_unless_they_fail():
    copies = [renamed(renamed(airline(), ".analytics.", f".copy_{n}."), ".airline.", f".copy_{n}.") for n in range(3)]
    models, tables, edges = (
        [each for copy in copies for each in getattr(copy, part)] for part in ("models", "tables", "edges")
    )
    found = Parsed(page(ProjectStatus("airline", NOW, models, tables, edges)))
    shown = [each["class"] for each in found.all("details") if each.get("id") and "open" in each]
    assert shown == ["model fails"] * 3


def test_a_live_page_reloads_itself():
    refreshed = [
        each["content"]
        for each in Parsed(page(airline(), refresh=5)).all("meta")
        if each.get("http-equiv") == "refresh"
    ]
    assert refreshed == ["5"]


def failure(message, since_ms, retry_ms, failures):
    return Failure(message, False, failures, since_ms / 1000, retry_ms / 1000)


def test_the_page_of_watch_shows_the_run_in_progress_and_failures():
    model = airline().models[0].status.model
    failing = {
        model: failure("no room", NOW - 300_000, NOW + 90_000, 4),
        "model.airline.a_view": failure("<b>no column</b>", NOW - 5_000, NOW, 1),
        "model.airline.reloaded": failure("no table", NOW - 60_000, NOW, 0),
    }
    shown = page(airline(), live=Live(RunInProgress((NOW - 115_000) / 1000, 12), failing))
    text = " ".join(Parsed(shown).text.split())
    assert "A run is in progress: 12 nodes, since " in text and "(1 minute)." in text
    assert "model.airline.a_view Failing since " in text and "<b>no column</b>" in text
    assert re.search(r"\(5 seconds\), 1 time in a row\. Next retry: now", text)
    assert re.search(r"\(1 minute\)\. Next retry: now", text)
    assert "A run is in progress" not in page(airline()) and "Failing since" not in page(airline())

    failed = with_failures(airline(), {model: "no room"})
    text = " ".join(Parsed(page(failed, live=Live(failing=failing))).text.split())
    assert re.search(r"Failing since \S+ \S+ UTC \(5 minutes\), 4 times in a row\. Next retry: in 1 minute, at ", text)


def test_a_page_replaces_the_previous_one_atomically(tmp_path):
    output = tmp_path / "status.html"
    output.write_text("before", encoding="utf-8")
    write_page(airline(), output)
    assert output.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [file.name for file in tmp_path.iterdir()] == ["status.html"]
    (tmp_path / "plain").touch()
    assert output.stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_page_that_cannot_be_written_leaves_no_file(tmp_path):
    with pytest.raises(ConfigError, match="was not written"):
        write_page(airline(), tmp_path / "missing" / "status.html")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigError, match="was not written"):
        write_page(airline(), tmp_path / "folder")
    assert [file.name for file in tmp_path.iterdir()] == ["folder"]


def test_json_contains_the_status_fields_in_each_model():
    document = json.loads(as_json(airline()))
    assert list(document) == ["version", "project", "generated_at_ms", "models", "tables", "edges", "last_command"]
    assert set(document["models"][0]) == {
        "name", "model", "target", "epoch", "next_run", "error", "sources", "state", "logic_changed_since",
        "lag_ms", "commands", "last_commit_ms", "runs", "read", "update_method", "verified", "cloned_from",
        "files_kept_until_ms", "versions", "action", "views", "is_repeated",
    }  # fmt: skip
