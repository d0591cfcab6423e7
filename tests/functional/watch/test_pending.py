"""``pending``: due nodes as a selector and as JSON, and the exit code. The command does not start Spark."""

from __future__ import annotations

import json

import pytest

from .test_watch import CHANGES, three_stages
from .watching import pending

TESTS = """
version: 2
models:
  - name: staged
    columns: [{name: id, data_tests: [not_null]}]
"""
NO_JAVA = {"JAVA_HOME": "/nonexistent", "PATH": "/nonexistent"}
"""Without Java, Spark would fail to start."""


def test_what_is_due_without_a_jvm(shop):
    source = three_stages(shop)
    shop.write("models/tests.yml", TESTS)
    shop.model("on_raw", "select * from {{ source('raw', 'events') }}", materialized="table")

    first = pending(shop.folder, **NO_JAVA)
    assert (first.returncode, first.stdout) == (0, "shop.counted shop.latest shop.mirror shop.staged\n"), first.stderr
    shop.insert(source, "(1, 'a')")
    assert shop.dbt("build", "--select", *first.stdout.split()).success

    nothing = pending(shop.folder, **NO_JAVA)
    assert (nothing.returncode, nothing.stdout.strip(), nothing.stderr) == (99, "", "")

    shop.insert(source, "(2, 'b')", "(3, 'c')")
    due = pending(
        shop.folder,
        "--output",
        "json",
        "--select",
        "staged latest",
        "--exclude",
        "latest not_null_staged_id",
        **NO_JAVA,
    )
    assert due.returncode == 0, due.stderr
    shown = json.loads(due.stdout)
    assert shown["version"] == 1
    assert (shown["select"], shown["due"], shown["failing"]) == ("shop.staged", ["model.shop.staged"], [])
    ((model,),) = (shown["models"],)
    assert model["due"] is True
    assert model["lag_seconds"] > 0
    assert model["sources"][0]["records"] == 2
    assert shown["exclude"] == "shop.not_null_staged_id"
    built = shop.dbt("build", "--select", shown["select"], "--exclude", shown["exclude"])
    assert built.success and list(built.nodes) == ["staged"]

    # downstream nodes are due once their parent has committed, including the tests of the parent that gate them
    assert pending(shop.folder, **NO_JAVA).stdout == "shop.counted shop.latest shop.mirror shop.not_null_staged_id\n"


def test_nodes_held_back_by_a_test_are_also_held_back_at_the_next_check(shop):
    source = three_stages(shop)
    shop.write("models/tests.yml", TESTS)
    shop.insert(source, "(1, 'a')")
    assert shop.dbt("build", "--select", *pending(shop.folder, **NO_JAVA).stdout.split()).success
    shop.insert(source, "(null, 'b')")
    for _ in range(2):
        due = pending(shop.folder, **NO_JAVA).stdout.split()
        assert {"shop.latest", "shop.counted"} < set(due)
        found = shop.dbt("build", "--select", *due)
        assert [name for name, each in found.nodes.items() if each.status == "fail"] == ["not_null_staged_id"]
        assert shop.rows(shop.built("latest")) == {(1, "a"): 1}


def test_a_table_that_a_run_left_out_is_due(shop):
    source = three_stages(shop)
    shop.insert(source, "(1, 'a')")
    assert shop.dbt("build").success
    assert pending(shop.folder, **NO_JAVA).returncode == 99
    shop.insert(source, "(2, 'b')")
    assert shop.dbt("build", "--exclude", "counted").success
    due = pending(shop.folder, **NO_JAVA)
    assert (due.returncode, due.stdout) == (0, "shop.counted\n")
    assert shop.dbt("build", "--select", *due.stdout.split()).success
    assert shop.rows(shop.built("counted")) == {(2,): 1}
    assert pending(shop.folder, **NO_JAVA).returncode == 99


def test_a_table_whose_input_changed_during_its_build_is_due(shop):
    source = three_stages(shop)
    shop.insert(source, "(1, 'a')")
    sql = "select count(*) as n from {{ ref('mirror') }}"
    shop.model("counted", sql, materialized="table", pre_hook=f"insert into {shop.built('mirror')} values (2, 'b')")
    assert shop.dbt("build").success
    due = pending(shop.folder, **NO_JAVA)
    assert (due.returncode, due.stdout) == (0, "shop.counted\n")
    shop.model("counted", sql, materialized="table")
    assert shop.dbt("build", "--select", *due.stdout.split()).success
    assert pending(shop.folder, **NO_JAVA).returncode == 99


@pytest.mark.core
def test_a_model_that_would_fail_is_an_error_and_not_hidden(shop):
    good, rewritten = shop.source("good"), shop.source("rewritten")
    shop.model("good", CHANGES.format("good"))
    shop.model("broken", CHANGES.format("rewritten"))
    shop.model("behind", "select id, v from {{ ip_changes(ref('broken')) }}")
    for table in (good, rewritten):
        shop.insert(table, "(1, 'a')")
    shop.run()
    shop.sql(f"update {rewritten} set v = 'z'")

    alone = pending(shop.folder, **NO_JAVA)
    assert (alone.returncode, alone.stdout.strip()) == (1, "")
    assert "model.shop.broken: " in alone.stderr
    assert "More: dbt-spark-iceberg explain rewritten" in alone.stderr

    shop.insert(good, "(2, 'b')")
    both = pending(shop.folder, **NO_JAVA)
    assert (both.returncode, both.stdout) == (0, "shop.good\n")
    assert "model.shop.broken: " in both.stderr


def test_errors_of_the_command_itself(shop):
    shop.source("events")
    shop.model("staged", CHANGES.format("events"))
    shop.model("table", "select 1 as id", materialized="table")

    none = pending(shop.folder, "--select", "table", **NO_JAVA)
    assert none.returncode == 1
    expected = "There is nothing to watch: the selected node does not have this package's materialization."
    assert expected in none.stderr
    assert none.stdout == ""

    shop.write("models/wrong.sql", "select * from {{ ref('nothing') }}")
    wrong = pending(shop.folder, **NO_JAVA)
    assert wrong.returncode == 1
    assert "depends on a node named 'nothing'" in wrong.stderr
    assert "Traceback" not in wrong.stderr

    assert pending(shop.folder, "--output", "xml").returncode == 2
