from __future__ import annotations

import pyspark

from dbt.adapters.spark_iceberg.spark.checks import OLDEST_CONNECT_CLIENT

if tuple(map(int, pyspark.__version__.split(".")[:2])) < OLDEST_CONNECT_CLIENT:
    collect_ignore_glob = ["test_*.py"]
