#!/usr/bin/env bash
# Question: does a table of format v3 keep its row ids if it is compacted to ORC and back to Parquet?
# Guess: yes. Compactions preserve _row_id, and v3 requires unique ids.
# Found with Spark 4.1.4 and Iceberg 1.12.0: not if the property read.orc.vectorization.enabled is set. Spark's vectorized
#   reader of ORC returns one id for all rows of a file, and the compaction to Parquet stores it in every row. With the
#   property unset, all ids are kept. https://github.com/apache/iceberg/pull/16534 added only the other reader.
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


def ids(table):
    return {row[0]: row[1] for row in spark.sql(f"select id, _row_id from lake.db.{table}").collect()}


for vectorized in ("false", "true"):
    table = f"vectorized_{vectorized}"
    properties = f"'format-version'='3', 'read.orc.vectorization.enabled'='{vectorized}'"
    spark.sql(f"create table lake.db.{table} (id int) using iceberg tblproperties ({properties})")
    spark.sql(f"insert into lake.db.{table} select /*+ coalesce(1) */ int(id) from range(20)")
    before = ids(table)
    for file_format in ("orc", "parquet"):
        spark.sql(f"alter table lake.db.{table} set tblproperties ('write.format.default'='{file_format}')")
        spark.sql(
            f"call lake.system.rewrite_data_files(table => 'db.{table}', options => map('rewrite-all', 'true'))"
        )
    after = ids(table)
    kept = sum(before[each] == after[each] for each in before)
    print(f"vectorized {vectorized}: {len(after)} rows, {kept} with their ids, {len(set(after.values()))} ids")
PYTHON
"$folder/venv/bin/python" "$folder/program.py" "$folder/warehouse" 2> "$folder/log" | tee "$folder/output"
diff - "$folder/output" <<'OUTPUT'
vectorized false: 20 rows, 20 with their ids, 20 ids
vectorized true: 20 rows, 0 with their ids, 1 ids
OUTPUT
