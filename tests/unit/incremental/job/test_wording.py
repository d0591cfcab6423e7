"""Errors and warnings that jobs share with models, in the words of jobs."""

from iceberg_incremental.capture.cuts import Cuts
from iceberg_incremental.capture.reads import capture
from iceberg_incremental.capture.run_plan import Read
from iceberg_incremental.explain import model_errors, wording
from iceberg_incremental.explain.caller import Caller, called_by

from ..runs import SOURCE, Reader, hist, opened, snap


def test_a_job_reads_its_own_table_without_the_run() -> None:
    with called_by(Caller.JOB):
        said = str(model_errors.reads_itself("changes", "job.lake.ops.o2"))
    assert "on the job's own table" in said
    assert "To fix: read the table with spark.table() instead of run.changes()." in said
    assert "{{ this }}" in str(model_errors.reads_itself("ip_changes", "model.shop.staged"))


def test_a_warning_about_appends_of_whole_tables_names_the_calls_of_a_job() -> None:
    with called_by(Caller.JOB):
        said = wording.appends_whole_tables("job.lake.ops.o2")
    assert "run.changes()" in said
    assert "job.run(full_refresh=True)" in said
    assert "ip_" not in said
    assert "ip_changes()" in wording.appends_whole_tables("model.shop.staged")


def test_a_run_that_reads_only_whole_tables():
    reader = Reader(source=hist(SOURCE, snap(1, None)))
    plan = opened(reader, config={"incremental_strategy": "append"})
    cuts = Cuts(lambda: reader)
    whole = capture(plan, cuts, SOURCE, Read.AS_OF)
    assert whole.reads_whole_tables
    assert not capture(whole, cuts, SOURCE, Read.CHANGES).reads_whole_tables
