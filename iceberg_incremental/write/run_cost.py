"""Noting what a run costs, so that the next runs of its model can correct their estimates."""

from __future__ import annotations

from ..capture.run import Run
from ..plan.learned import Learned, Outcome
from ..spark.port import Spark


def note_cost(run: Run, spark: Spark, began: float | None, way: str, estimated: float, known: Learned) -> None:
    """Note what a run has cost, for the commit that publishes its rows. Nothing is noted if the cost is unknown.

    ``began``: the CPU time in s that executors had spent before; None if unknown. ``way``, ``estimated``: as in
    ``Outcome``. ``known``: what earlier runs have learned.
    """
    if began is not None and (now := spark.executor_seconds()) is not None:
        run.state.learned = known.after(Outcome(way, estimated, now - began))
