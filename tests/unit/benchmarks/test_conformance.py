"""Counts of a conformance run's tests, from pytest's report."""

from __future__ import annotations

from xml.etree import ElementTree

from benchmarks.conformance import by_topic

REPORT = """
<testsuite>
  <testcase classname="a.test_seeds.TestOne" name="test_it"/>
  <testcase classname="a.test_seeds.TestTwo" name="test_it"><failure/></testcase>
  <testcase classname="a.test_seeds.TestTwo" name="test_it"><error message="failed on teardown"/></testcase>
  <testcase classname="a.test_seeds.TestThree" name="test_it"><error message="failed on teardown"/></testcase>
  <testcase classname="a.test_docs.TestFour" name="test_it"><error message="failed on setup"/></testcase>
  <testcase classname="a.test_docs.TestFive" name="test_it"><skipped/></testcase>
</testsuite>
"""


def test_each_test_counts_once_regardless_of_teardown_errors():
    found = by_topic(ElementTree.fromstring(REPORT).iter("testcase"))
    assert found == {"seeds": {"passed": 2, "failed": 1}, "docs": {"failed": 1, "skipped": 1}}
