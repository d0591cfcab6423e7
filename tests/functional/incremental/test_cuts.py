"""How models and sources see each other in one invocation, and in overlapping invocations."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable

import pytest
import yaml
from dbt.cli.main import dbtRunner

pytestmark = pytest.mark.core

DBT = [sys.executable, "-c", "from dbt.cli.main import cli; cli()"]


def run_with_pause(shop, after: str, act: Callable[[], object]) -> None:
    """Run ``dbt run``, and call a function after one model has finished and before the next one begins."""
    acted: list[str] = []

    def callback(event):
        if event.info.name == "LogModelResult" and f".{after} " in event.info.msg and not acted:
            acted.append(after)
            act()

    folders = ["--project-dir", str(shop.folder), "--profiles-dir", str(shop.folder)]
    assert dbtRunner(callbacks=[callback]).invoke(["run", "--threads", "1", *folders]).success
    assert acted


def test_a_fact_is_not_read_beside_dimensions_that_are_older(shop):
    dims, facts = shop.source("dims", "d int, name string"), shop.source("facts", "id int, d int")
    shop.insert(dims, "(1, 'one')")
    shop.insert(facts, "(1, 1)")
    shop.model("a_dims", "select * from {{ ip_changes(source('raw', 'dims')) }}")
    joined = "{{ ip_changes(source('raw', 'facts')) }} as f join {{ ip_as_of(source('raw', 'dims')) }} as d using (d)"
    shop.model("b_joined", f"-- depends_on: {{{{ ref('a_dims') }}}}\nselect f.id, d.name from {joined}")
    shop.run()

    def both_come():
        shop.insert(dims, "(2, 'two')")
        shop.insert(facts, "(2, 2)")

    run_with_pause(shop, "a_dims", both_come)
    assert shop.rows(shop.built("b_joined"), "id") == Counter([(1,)])
    shop.run()
    assert shop.rows(shop.built("b_joined")) == Counter([(1, "one"), (2, "two")])


def test_a_model_sees_its_parent_s_new_rows_although_another_model_reads_the_table_as_a_source(shop):
    """The tables of sources are cut when the first model begins, before the model that builds one of them."""
    raw = shop.source("raw_rows", "id int")
    shop.insert(raw, "(1)")
    shop.model("built", "select * from {{ ip_changes(source('raw', 'raw_rows')) }}")
    shop.run()
    tables = [{"name": "built", "database": shop.catalog, "schema": shop.schema}]
    declared = {"name": "own", "database": shop.catalog, "schema": shop.schema, "tables": tables}
    shop.write("models/own.yml", yaml.safe_dump({"version": 2, "sources": [declared]}))
    shop.model("beside", "select * from {{ ip_changes(source('own', 'built')) }}")
    shop.model("reader", "select * from {{ ip_changes(ref('built')) }}")
    snapshot = {"name": "versions", "relation": "ref('built')", "config": {"unique_key": "id", "strategy": "check"}}
    snapshot["config"]["check_cols"] = "all"
    shop.write("snapshots/versions.yml", yaml.safe_dump({"snapshots": [snapshot]}))
    for ids in ([1, 2], [1, 2, 3]):
        shop.insert(raw, f"({ids[-1]})")
        assert shop.dbt("build").success
        assert shop.rows(shop.built("reader")) == Counter((each,) for each in ids)
        assert shop.rows(shop.built("versions"), "id") == Counter((each,) for each in ids)


def test_a_model_that_no_longer_reads_a_table_does_not_hide_its_new_rows(shop):
    """dbt may run the edited model before the table is built."""
    raw = shop.source("raw_rows", "id int")
    shop.insert(raw, "(1)")
    shop.model("built", "select * from {{ ip_changes(source('raw', 'raw_rows')) }}")
    both = "select id from {{ source('raw', 'raw_rows') }} union all select id from {{ ref('built') }}"
    shop.model("an_edited_one", both, incremental_strategy="auto")
    shop.model("reader", "select * from {{ ip_changes(ref('built')) }}")
    shop.run()
    shop.insert(raw, "(2)")
    shop.model("an_edited_one", "select id from {{ source('raw', 'raw_rows') }}", incremental_strategy="auto")
    shop.dbt("run", "--threads", "1")
    assert shop.rows(shop.built("reader")) == Counter([(1,), (2,)])


@pytest.mark.thorough
def test_groups_are_not_rebuilt_from_a_cut_older_than_the_checkpoint(shop):
    """Meanwhile, another run reads more of one source, and ends before this run reaches the model."""
    a, b = shop.source("a", "k string, v int"), shop.source("b", "k string, v int")
    shop.insert(a, "('x', 1)")
    shop.insert(b, "('x', 10)")
    shop.model("first", "select * from {{ ip_changes(source('raw', 'a')) }}")
    both = "'k', changes_of=[source('raw', 'a'), source('raw', 'b')]"
    shop.model(
        "sums",
        f"""
            -- depends_on: {{{{ ref('first') }}}}
            select k, sum(v) as v from (
                select * from {{{{ ip_changed_groups(source('raw', 'a'), {both}) }}}}
                union all
                select * from {{{{ ip_changed_groups(source('raw', 'b'), {both}) }}}}
            ) group by k
        """,
        incremental_strategy="merge",
        unique_key="k",
    )
    shop.run()
    # b has a commit before and after this run's cut; otherwise the run would have nothing to do
    shop.insert(b, "('x', 1000)")

    def another_run():
        shop.insert(a, "('x', 100)")
        folders = ["--project-dir", str(shop.folder), "--profiles-dir", str(shop.folder)]
        command = [*DBT, "run", "--select", "sums", *folders, "--target-path", "other"]
        other = subprocess.run(command, capture_output=True, text=True, check=False)
        assert other.returncode == 0, other.stdout[-2000:]
        assert shop.rows(shop.built("sums")) == Counter([("x", 1111)])
        shop.insert(b, "('x', 10000)")

    run_with_pause(shop, "first", another_run)
    shop.run()
    assert shop.rows(shop.built("sums")) == Counter([("x", 11111)])
