#!/usr/bin/env bash
# Question: does the result of WHERE x > 5 on an Iceberg table depend on how its rows are spread over files?
# Guess: no. In Spark, NaN is greater than any other number, so a row with NaN is always in the result.
# Found with Spark 4.1.4 and Iceberg 1.12.0: yes. Iceberg's bounds of a column leave NaN out, and files are skipped by
#   these bounds. A row with NaN is found if its file also has a number above 5, and is missing otherwise. A compaction
#   brings it back. The same query over the same rows in another order of writing has another result.
# Needs: Java 17 or 21, and Maven's central repository.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyspark==4.1.4
cat > "$folder/program.py" <<'PYTHON'
import sys

from pyspark.sql import SparkSession

settings = {
    "spark.jars.packages": "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
    "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.lake.type": "hadoop",
    "spark.sql.catalog.lake.warehouse": sys.argv[1],
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.ui.enabled": "false",
}
spark = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()


def found(relation):
    rows = spark.sql(f"select id from {relation} where x > 5 order by id").collect()
    return [row[0] for row in rows]


low, high, nan = "(1, 1.0)", "(2, 9.0)", "(3, double('NaN'))"
for name, files in {"nan_beside_high": ([low], [high, nan]), "nan_beside_low": ([low, nan], [high])}.items():
    spark.sql(f"create table lake.db.{name} (id int, x double) using iceberg")
    for rows in files:
        spark.sql(f"insert into lake.db.{name} select * from (values {', '.join(rows)}) order by 1")
    print(f"{name}: {found(f'lake.db.{name}')}")
spark.sql("call lake.system.rewrite_data_files(table => 'db.nan_beside_low', options => map('rewrite-all', 'true'))")
print(f"nan_beside_low, compacted: {found('lake.db.nan_beside_low')}")
print(f"without Iceberg: {found(f'(values {low}, {high}, {nan}) t(id, x)')}")
PYTHON
"$folder/venv/bin/python" "$folder/program.py" "$folder/warehouse" 2> "$folder/log" | tee "$folder/output"
diff - "$folder/output" <<'OUTPUT'
nan_beside_high: [2, 3]
nan_beside_low: [2]
nan_beside_low, compacted: [2, 3]
without Iceberg: [2, 3]
OUTPUT
