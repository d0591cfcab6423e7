"""The table that `make compat` prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compat.environments import ENVIRONMENTS, LISTS
from tests.compat.results import Result, read, table

REPORT = """<testsuites><testsuite name="pytest" tests="4">
<testcase classname="tests.unit.test_a" name="test_one" time="1"/>
<testcase classname="tests.unit.test_a" name="test_two"><failure message="no">no</failure></testcase>
<testcase classname="tests.unit.test_b" name="test_three"><skipped message="old">old</skipped></testcase>
<testcase classname="tests.unit.test_b" name="test_four"><error message="no">no</error></testcase>
</testsuite></testsuites>"""
VERSIONS = {"python": "3.12.1", "dbt-core": "1.11.16", "pyspark": "4.1.4", "pyiceberg": "0.12.0"}
RELEASED = {**VERSIONS, "iceberg": "1.12.0"}


def test_the_result_of_an_environment(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    assert read(report, "oldest", VERSIONS, 90) == Result(
        "oldest", VERSIONS, 1, ("tests.unit.test_a::test_two", "tests.unit.test_b::test_four"), 1, 90
    )


def test_the_table_lists_failures_and_environments_that_did_not_run():
    results = [
        Result("oldest", RELEASED, 1, ("a::b",), 2, 90),
        Result("spark-4.2", {**VERSIONS, "pyspark": "4.2.1"}, 3, seconds=30),
        Result("newest", not_run="Python 3.13 is not installed"),
    ]
    assert table(results).splitlines() == [
        "| environment | Python | dbt-core | Spark | Iceberg | PyIceberg | passed | failed | skipped | minutes |",
        "|-------------|--------|----------|-------|---------|-----------|--------|--------|---------|---------|",
        "| oldest      | 3.12.1 | 1.11.16  | 4.1.4 | 1.12.0  | 0.12.0    | 1      | 1      | 2       | 1.5     |",
        "| spark-4.2   | 3.12.1 | 1.11.16  | 4.2.1 | -       | 0.12.0    | 3      | 0      | 0       | 0.5     |",
        "| newest      | -      | -        | -     | -       | -         | 0      | 0      | 0       | 0.0     |",
        "oldest: FAILED a::b",
        "newest: NOT RUN: Python 3.13 is not installed",
    ]


def test_each_list_of_versions_belongs_to_an_environment():
    lists = {path.stem for path in LISTS.glob("*.txt")} - {"overrides"}
    assert lists <= {each.name for each in ENVIRONMENTS}


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda each: each.name)
def test_each_selected_test_exists(environment):
    assert [path for path in environment.tests if not Path(path).exists()] == []
