"""The PySpark jobs of docs/jobs.md, run one after the other. Only the table names differ from the page."""

from __future__ import annotations

import pytest

from iceberg_incremental import Job
from iceberg_incremental.errors import CheckpointError
from tests.unit.website.blocks import blocks

from .test_jobs import Lake

FIRST, MIRROR, DAILY, NAMED = (
    block.text
    for block in blocks("python")
    if block.page == "jobs.md" and "local_spark" not in block.text and not block.text.startswith("# job.py")
)


@pytest.fixture
def lake(outside):
    return Lake(outside.session)


def run(lake, text, **names):
    """Run a block; returns its variables."""
    for namespace in ("lake.ops", "lake.analytics"):
        text = text.replace(f"{namespace}.", f"{lake.schema}.")
    variables = {"spark": lake.session, **names}
    exec(text, variables)
    return variables


def rows(lake, table):
    return sorted(tuple(row) for row in lake.session.sql(f"select * from {lake.schema}.{table}").collect())


@pytest.mark.thorough
def test_the_jobs_of_the_guide(lake):
    flights, customers = f"{lake.schema}.flights", f"{lake.schema}.customers"
    lake.sql(f"create table {flights} using iceberg as select id, id % 2 as cancelled from range(4)")
    lake.sql(f"create table {customers} using iceberg as select id as customer_id, 'a' as name from range(2)")

    job = run(lake, FIRST)["job"]
    assert rows(lake, "flights_staged") == [(0, 0), (2, 0)]
    lake.sql(f"insert into {flights} values (4, 0), (5, 1)")
    run(lake, FIRST)
    assert rows(lake, "flights_staged") == [(0, 0), (2, 0), (4, 0)]

    named = run(lake, NAMED, Job=type(job))["job"]
    with pytest.raises(CheckpointError):
        run(lake, FIRST.partition("\n")[2].partition("\n")[2].replace("job = ", "#"), job=named)

    mirror = type(job)(lake.session, target=f"{lake.schema}.customers_mirror")
    run(lake, MIRROR, job=mirror)
    lake.sql(f"update {customers} set name = 'b' where customer_id = 1")
    run(lake, MIRROR, job=mirror)
    assert rows(lake, "customers_mirror") == [(0, "a"), (1, "b")]


@pytest.mark.thorough
def test_the_query_of_the_guide(lake):
    lake.sql(f"create table {lake.schema}.carriers using iceberg as select id, 'c' || id as name from range(3)")
    flights = f"{lake.schema}.flights"
    lake.sql(
        f"create table {flights} using iceberg as "
        "select date_add(date '2026-01-01', cast(id div 3 as int)) as day, id % 3 as carrier_id, id as delay "
        "from range(9)"
    )
    run(lake, DAILY, Job=Job)
    assert len(rows(lake, "daily_delays")) == 9
    lake.sql(f"update {flights} set delay = 100 where delay = 4")
    run(lake, DAILY, Job=Job)
    assert [row[2] for row in rows(lake, "daily_delays") if row[2] > 8] == [100.0]
