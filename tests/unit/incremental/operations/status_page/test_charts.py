"""The charts of runs and the commits that they read, of savings, and of lateness."""

from __future__ import annotations

from dataclasses import replace

from dbt.adapters.spark_iceberg.status_page.charts import consumed, lateness, savings, timeline, versions
from iceberg_incremental.table.row_counts import VersionCounts

from .airline import DAY, NOW, airline

STATUS = airline()
TABLES = {table.table.rpartition(".")[2]: table for table in STATUS.tables}
MODELS = {model.name: model for model in STATUS.models}


def read(model, source):
    position = next(each for each in model.status.sources if each.source == source.table).position_snapshot_id
    return consumed(source, model.runs, position)


def epochs(model, source):
    return [each.epoch for each in read(MODELS[model], TABLES[source])]


def traces(figure):
    return {trace["name"]: trace for trace in figure["data"] if "name" in trace}


def test_each_commit_is_assigned_to_the_run_that_read_it():
    # commits 4 and 8 are compactions; a later run read past commit 4, and the position is past commit 8
    assert epochs("flights_latest", "flights_staged") == [1, 2, 3, 4, 4, 5, 6, 0, None, None]
    assert epochs("flights_staged", "flights") == [1, 2, 3, 4, 4, 5, 6, 7, 7, 8]


def test_commits_before_the_known_runs_were_read():
    model = MODELS["flights_latest"]
    assert [each.epoch for each in read(replace(model, runs=model.runs[-1:]), TABLES["flights_staged"])][:6] == [0] * 6


def test_a_range_that_begins_before_the_shown_commits():
    model, source = MODELS["flights_latest"], TABLES["flights_staged"]
    newest = replace(source, commits=source.commits[2:])
    assert [each.epoch for each in read(model, newest)] == [3, 4, 4, 5, 6, 0, None, None]


def test_the_timeline_distinguishes_read_and_unread_commits():
    model = MODELS["flights_latest"]
    found = traces(timeline(model, {"flights_staged": read(model, TABLES["flights_staged"])}, NOW))
    assert {name: len(trace["x"]) for name, trace in found.items()} == {
        "read": 6,
        "unread": 2,
        "no new rows": 2,
        "run": 6,
    }
    assert "unread" in found["unread"]["text"][0]
    assert "read by run 1" in found["read"]["text"][0]


def test_a_model_without_any_commit_has_no_timeline():
    assert timeline(MODELS["route_delays"], {}, NOW) is None
    assert savings(MODELS["route_delays"].runs) is None


def test_savings_compare_read_rows_with_whole_tables():
    found = traces(savings(MODELS["flights_staged"].runs))
    assert found["read by the run"]["y"][0] == found["in the whole tables"]["y"][0]
    assert found["read by the run"]["y"][-1] * 5 < found["in the whole tables"]["y"][-1]


def test_versions_of_runs_that_wrote_versions():
    first, second, *others = MODELS["flights_staged"].runs
    assert versions(MODELS["flights_staged"].runs) is None
    written = [replace(first, versions=VersionCounts(4, 0)), replace(second, versions=VersionCounts(3, None)), *others]
    found = traces(versions(written))
    assert {name: (trace["x"], trace["y"]) for name, trace in found.items()} == {
        "added": (["1", "2"], [4, 3]),
        "ended or updated": (["1", "2"], [0, 0]),
    }


def test_lateness_has_a_suitable_unit():
    found = lateness({"flights": TABLES["flights"]})
    assert found["layout"]["yaxis"]["title"]["text"] == "days late"
    assert max(found["data"][0]["y"]) == 63 / 24
    hours = [replace(each, late_ms=None if each.late_ms is None else DAY // 6) for each in TABLES["flights"].commits]
    found = lateness({"flights": replace(TABLES["flights"], commits=hours)})
    assert (found["layout"]["yaxis"]["title"]["text"], set(found["data"][0]["y"])) == ("hours late", {4})
    assert lateness({"weather": TABLES["weather"]}) is None


def test_names_are_escaped_for_plotly():
    model = MODELS["flights_latest"]
    found = timeline(model, {"<b>&amp;": read(model, TABLES["flights_staged"])}, NOW)
    assert found["layout"]["yaxis"]["ticktext"][0] == "&lt;b&gt;&amp;amp;"
    assert traces(found)["read"]["text"][0].startswith("&lt;b&gt;&amp;amp;, ")
