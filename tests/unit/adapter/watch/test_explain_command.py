"""``dbt-spark-iceberg explain``, which prints entries of the index of errors."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from dbt.adapters.spark_iceberg.watch.command_line import cli
from iceberg_incremental.explain import index


def explain(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["explain", *arguments])
    return result.exit_code, result.output


@pytest.mark.parametrize("name", ["lost-race", "docs/errors/lost-race.md", "lost_race"])
def test_an_entry_by_its_name_or_page(name):
    code, printed = explain(name)
    assert code == 0
    assert printed.startswith("lost-race (ConcurrentRunError)\n")
    assert "To fix" in printed
    assert "docs/concepts.md#the-fence" in printed
    assert "```" not in printed and "](" not in printed


def test_without_a_name_it_lists_all_entries():
    code, printed = explain()
    assert code == 0
    assert printed.splitlines() == sorted(index.entries())
    assert "rewritten" in printed.splitlines()


@pytest.mark.parametrize(
    ("given", "meant"), [("rewriten", "rewritten"), ("checkpoint", "missing-checkpoint"), ("lost-rac", "lost-race")]
)
def test_an_unknown_name_lists_similar_ones(given, meant):
    code, printed = explain(given)
    assert code == 1
    assert f"There is no error named '{given}'. Similar names:" in printed
    assert f"  {meant}" in printed.splitlines()


def test_without_similar_names_the_error_names_the_list():
    code, printed = explain("xyzzyxyzzy")
    assert code == 1
    assert "`dbt-spark-iceberg explain` lists all names." in printed
