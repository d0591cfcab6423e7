"""Runs a PySpark job again and again, in a separate process, until a file exists.

Usage: python job_in_a_loop.py <settings of Spark as JSON> <source> <target> <file>. Prints a line before the first run.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from iceberg_incremental import Job
from iceberg_incremental.errors import ConcurrentRunError


def main(settings, source, target, stop):
    builder = SparkSession.builder
    for key, value in json.loads(settings).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.table(source).count()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    lost = 0
    while not Path(stop).exists():
        try:
            with Job(spark, target).run() as run:
                run.append(run.changes(source))
        except ConcurrentRunError:
            lost += 1
    sys.stdout.write(f"lost {lost}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
