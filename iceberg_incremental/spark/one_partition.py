"""Rows that are held in one partition, where Spark's driver is in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def known_as_one(held: DataFrame) -> DataFrame:
    """Rows that are held, so that Spark knows where they are in one partition, and does not shuffle them.

    It forgets how a plan that it adapts while it runs has partitioned its result.
    """
    alone = held._jdf.queryExecution().logical().rdd().getNumPartitions() == 1
    return held.coalesce(1) if alone else held
