"""Statuses of models, as literal values."""

from __future__ import annotations

from dbt.adapters.spark_iceberg.status.model_status import ModelStatus, SourceStatus


def status(
    model="model.shop.a",
    action="apply",
    error=None,
    epoch=1,
    sources=("lake.raw.events",),
    commits=1,
    rows=10,
    since=None,
):
    """Return a model's status. ``since`` is the time of the oldest pending commit, in epoch ms."""
    pending = "nothing" if action == "nothing" else "append"
    read = [
        SourceStatus(source, 1, 1_000, pending, snapshots=commits, records=rows, oldest_pending_ms=since)
        for source in sources
    ]
    if error:
        return ModelStatus.of_error(model, model, epoch, error, sources=read)
    return ModelStatus.of_action(model, model, epoch, action, sources=read)


def up_to_date(model="model.shop.a", epoch=1):
    return status(model, "nothing", epoch=epoch, commits=0, rows=0)
