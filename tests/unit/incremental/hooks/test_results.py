"""Which models cause a warning about the rows of their tables."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.hooks.model import doubtful_result
from iceberg_incremental.capture.cuts import Cuts
from iceberg_incremental.capture.reads import capture
from iceberg_incremental.capture.run_plan import Read
from iceberg_incremental.plan.conditional_reads import ConditionalReads
from tests.unit.incremental.runs import OTHER, SOURCE, Reader, hist, opened, snap

BY_DAY = {"incremental_strategy": "insert_overwrite", "partition_by": "day"}
BOTH = (Read.CHANGES, Read.AS_OF)


@pytest.mark.parametrize(
    ("config", "reads", "said"),
    [
        ({}, (Read.AS_OF,), "appends all rows"),
        ({}, (Read.CHANGES,), None),
        ({}, BOTH, None),
        ({"incremental_strategy": "merge", "unique_key": "id"}, (Read.AS_OF,), "deleted in the sources remain"),
        ({"incremental_strategy": "merge", "unique_key": "id"}, BOTH, None),
        (BY_DAY, (Read.CHANGES,), "loses its existing rows"),
        (BY_DAY, BOTH, None),
        (BY_DAY, (Read.AS_OF,), None),
        ({**BY_DAY, "aggregates_of_changes": "allow"}, (Read.CHANGES,), None),
    ],
)
def test_warnings(config, reads, said):
    reader = Reader(s=hist(SOURCE, snap(1, None)), o=hist(OTHER, snap(1, None)))
    run, cuts = opened(reader, config=config), Cuts(lambda: reader)
    for read, table in zip(reads, (SOURCE, OTHER), strict=False):
        run = capture(run, cuts, table, read)
    found = doubtful_result(run, {"compiled_code": "select 1"})
    assert (found is None) if said is None else (found is not None and said in found)
    assert doubtful_result(run, {"compiled_code": f"select 1 from {run.name.sql}"}) is None


def test_a_first_build_may_read_whole_tables_if_later_runs_read_changes():
    reader = Reader(s=hist(SOURCE, snap(1, None)))
    run = opened(reader, reads=ConditionalReads(changes=frozenset({SOURCE})))
    run = capture(run, Cuts(lambda: reader), SOURCE, Read.AS_OF)
    assert doubtful_result(run, {"compiled_code": "select 1"}) is None
