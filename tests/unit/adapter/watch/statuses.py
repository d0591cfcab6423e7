"""Statuses of models, as literal values."""

from __future__ import annotations

from dbt.adapters.spark_iceberg.status.status import NOTHING_TO_DO, ModelStatus, SourceStatus

DUE = "applies what is pending"


def status(
    model="model.shop.a",
    next_run=DUE,
    error=None,
    epoch=1,
    sources=("lake.raw.events",),
    commits=1,
    rows=10,
    since=None,
):
    """Return a model's status. ``since`` is the time of the oldest pending commit, in epoch ms."""
    pending = "nothing" if next_run == NOTHING_TO_DO else "append"
    read = [
        SourceStatus(source, 1, 1_000, pending, snapshots=commits, records=rows, oldest_pending_ms=since)
        for source in sources
    ]
    return ModelStatus(model, model, epoch, "fails" if error else next_run, error, read)


def up_to_date(model="model.shop.a", epoch=1):
    return status(model, NOTHING_TO_DO, epoch=epoch, commits=0, rows=0)
