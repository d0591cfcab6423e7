"""Which models cause a warning about the rows of their tables."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.hooks.results import doubtful_result
from iceberg_incremental.capture.cuts import Cuts
from iceberg_incremental.capture.reads import capture_as_of, capture_changes
from iceberg_incremental.plan.conditional_reads import ConditionalReads
from tests.unit.incremental.runs import OTHER, SOURCE, Reader, hist, opened, snap

BY_DAY = {"incremental_strategy": "insert_overwrite", "partition_by": "day"}
BOTH = (capture_changes, capture_as_of)


@pytest.mark.parametrize(
    ("config", "captures", "said"),
    [
        ({}, (capture_as_of,), "appends all rows"),
        ({}, (capture_changes,), None),
        ({}, BOTH, None),
        ({"incremental_strategy": "merge", "unique_key": "id"}, (capture_as_of,), None),
        (BY_DAY, (capture_changes,), "loses its existing rows"),
        (BY_DAY, BOTH, None),
        (BY_DAY, (capture_as_of,), None),
        ({**BY_DAY, "aggregates_of_changes": "allow"}, (capture_changes,), None),
    ],
)
def test_warnings(config, captures, said):
    reader = Reader(s=hist(SOURCE, snap(1, None)), o=hist(OTHER, snap(1, None)))
    run, cuts = opened(reader, config=config), Cuts(lambda: reader)
    for capture, table in zip(captures, (SOURCE, OTHER), strict=False):
        run = capture(run, cuts, table)
    found = doubtful_result(run, {"compiled_code": "select 1"})
    assert (found is None) if said is None else (found is not None and said in found)
    assert doubtful_result(run, {"compiled_code": f"select 1 from {run.name.sql}"}) is None


def test_a_first_build_may_read_whole_tables_if_later_runs_read_changes():
    reader = Reader(s=hist(SOURCE, snap(1, None)))
    run = opened(reader, reads=ConditionalReads(changes=frozenset({SOURCE})))
    run = capture_as_of(run, Cuts(lambda: reader), SOURCE)
    assert doubtful_result(run, {"compiled_code": "select 1"}) is None
