#!/usr/bin/env bash
# Question: can the condition of a DELETE be an EXISTS over a subquery with GROUP BY that also compares its aggregate?
# Guess: yes, for each kind of table. As the condition of a SELECT, it works, and in a merge-on-read table too.
# Found with Spark 4.1.4 and Iceberg 1.12.0: in a copy-on-write table, it fails with INTERNAL_ERROR_ATTRIBUTE_NOT_FOUND,
#   and nothing is deleted. Before Spark rewrites files, it also uses the condition to find these files, and this second
#   plan lacks the column of the aggregate. The statement works without this search
#   (spark.sql.optimizer.runtime.rowLevelOperationGroupFilter.enabled), which then rewrites all files.
# Needs: Java 17 or 21.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyspark==4.1.4
cat > "$folder/program.py" <<'PYTHON'
import sys

from pyspark.sql import SparkSession

spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.log.level", "OFF")
    .config("spark.jars.packages", "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0")
    .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
    .config("spark.sql.catalog.lake", "org.apache.iceberg.spark.SparkCatalog")
    .config("spark.sql.catalog.lake.type", "hadoop")
    .config("spark.sql.catalog.lake.warehouse", sys.argv[1])
    .getOrCreate()
)
CONDITION = """exists (
    select 1 from (select id, max(price) as highest from changes group by id) as c
    where t.id = c.id and case when t.price < c.highest then true else false end
)"""
spark.sql("create temporary view changes as select * from values (1, 15), (1, 25), (3, 5) as c (id, price)")


def deleted(mode):
    spark.sql("create or replace table lake.d.t (id int, price int) using iceberg "
              f"tblproperties ('format-version' = '2', 'write.delete.mode' = '{mode}')")
    spark.sql("insert into lake.d.t values (1, 10), (2, 20), (3, 30)")
    expected = [tuple(row) for row in spark.sql(f"select id from lake.d.t t where not {CONDITION} order by id").collect()]
    try:
        spark.sql(f"delete from lake.d.t t where {CONDITION}")
    except Exception as error:
        name = "INTERNAL_ERROR_ATTRIBUTE_NOT_FOUND"
        return name if name in str(error) else str(error)[:500]
    return "right" if [tuple(row) for row in spark.sql("select id from lake.d.t order by id").collect()] == expected else "wrong"


print("merge-on-read:", deleted("merge-on-read"))
print("copy-on-write:", deleted("copy-on-write"))
spark.conf.set("spark.sql.optimizer.runtime.rowLevelOperationGroupFilter.enabled", "false")
print("copy-on-write without the search for files:", deleted("copy-on-write"))
PYTHON
"$folder/venv/bin/python" "$folder/program.py" "$folder/lake" 2>> "$folder/log" | tee "$folder/output"
diff - "$folder/output" <<'OUTPUT'
merge-on-read: right
copy-on-write: INTERNAL_ERROR_ATTRIBUTE_NOT_FOUND
copy-on-write without the search for files: right
OUTPUT
