"""What the page tells about the last runs of a model and about the last dbt command."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.spark_iceberg.status_page.view import command_view, last_run_text, updates_text

from .airline import airline, last_command

STAGED = airline().models[2]


@pytest.mark.parametrize(
    ("rewrote_all", "said"),
    [
        ([None], "can be updated by id; no known run has updated it"),
        ([None, False, False], "updated by id"),
        (
            [None, True, False],
            "1 of the last 2 runs that wrote rows rewrote all rows of the table; the others updated by id",
        ),
        ([None, True], "the last run that wrote rows rewrote all rows of the table; can also be updated by id"),
        ([True, True], "2 of the last 2 runs that wrote rows rewrote all rows of the table; can also be updated by id"),
    ],
)
def test_updates_are_those_of_the_last_runs(rewrote_all, said):
    runs = [replace(STAGED.runs[0], rewrote_all=each) for each in rewrote_all]
    assert updates_text(replace(STAGED, update_method="by id", runs=runs)) == said


def test_other_strategies_have_no_method():
    assert updates_text(STAGED) == ""


def test_the_last_run_has_the_duration_of_its_command():
    assert last_run_text(STAGED, last_command()).endswith("added 2,811 rows and removed 0 in 7.8 s")
    other = replace(last_command(), invocation_id="another")
    assert last_run_text(STAGED, other) == last_run_text(STAGED, None)
    assert last_run_text(STAGED, None).endswith("added 2,811 rows and removed 0")
    assert last_run_text(replace(STAGED, runs=[]), None) == ""


def test_failures_are_first():
    found = command_view(last_command())
    assert [each.tone for each in found.results] == ["fails", "current", "current", "current"]
    assert command_view(None) is None
