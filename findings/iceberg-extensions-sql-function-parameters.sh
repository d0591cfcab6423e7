#!/usr/bin/env bash
# Question: does CREATE FUNCTION … RETURN (Spark 4's SQL functions) work in a session with Iceberg's SQL extensions?
# Guess: yes; the extensions add statements, and pass all others on to Spark's parser.
# Found with PySpark 4.1.4, iceberg-spark-runtime-4.1_2.13 1.12.0: only for functions without parameters. Spark parses
#   the list of parameters with a method of its parser interface that Iceberg's parser does not override, and whose
#   default is an UnsupportedOperationException without a message. CREATE FUNCTION and CREATE TEMPORARY FUNCTION fail;
#   without the extensions, both work.
# Needs: Java 17 or 21.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyspark==4.1.4
cat > "$folder/program.py" <<'PYTHON'
import sys

from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
if sys.argv[1] == "Iceberg":
    builder = builder.config("spark.jars.packages", "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0").config(
        "spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
    )
spark = builder.getOrCreate()
for statement in (
    "create temporary function one() returns int return 1",
    "create temporary function twice(x int) returns int return x * 2",
):
    try:
        spark.sql(statement)
        print(f"{sys.argv[1]}: {statement}: created")
    except Exception as error:
        print(f"{sys.argv[1]}: {statement}: {type(error).__name__}")
spark.stop()
PYTHON
for kind in Spark Iceberg; do "$folder/venv/bin/python" "$folder/program.py" "$kind" 2> "$folder/log"; done | tee "$folder/output"
diff - "$folder/output" <<'OUTPUT'
Spark: create temporary function one() returns int return 1: created
Spark: create temporary function twice(x int) returns int return x * 2: created
Iceberg: create temporary function one() returns int return 1: created
Iceberg: create temporary function twice(x int) returns int return x * 2: UnsupportedOperationException
OUTPUT
