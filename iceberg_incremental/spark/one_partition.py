"""Held rows in one partition, if Spark's driver is in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def known_as_one(held: DataFrame) -> DataFrame:
    """Held rows that Spark knows to be in one partition, so that it does not shuffle them.

    Spark loses this information for plans that it adapts during execution.
    """
    alone = held._jdf.queryExecution().logical().rdd().getNumPartitions() == 1
    return held.coalesce(1) if alone else held
