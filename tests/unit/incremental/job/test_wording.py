"""Errors and warnings that jobs share with models, in the words of jobs."""

from iceberg_incremental.explain import model_errors
from iceberg_incremental.explain.caller import Caller, called_by


def test_a_job_reads_its_own_table_without_the_run() -> None:
    with called_by(Caller.JOB):
        said = str(model_errors.reads_itself("changes", "job.lake.ops.o2"))
    assert "on the job's own table" in said
    assert "To fix: read the table with spark.table() instead of run.changes()." in said
    assert "{{ this }}" in str(model_errors.reads_itself("ip_changes", "model.shop.staged"))
