#!/usr/bin/env bash
# Question: Iceberg's Spark3Util.loadIcebergTable takes a SparkSession and a table's name. Does it find a table in a catalog
#   that is configured in this session?
# Guess: yes. The session is a parameter, and its SQL finds the table.
# Found with Spark 4.1.4 and Iceberg 1.12.0: only if the session's SQL has used the catalog before. The session's catalog
#   manager loads a catalog with the settings of the thread's active session, which a SQL statement sets while it runs, and
#   a call from outside, as through Py4J, does not. Iceberg takes the failure for a name without a catalog, and looks for
#   a schema named as the catalog in Spark's own: REQUIRES_SINGLE_PART_NAMESPACE.
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
    "spark.sql.catalogImplementation": "in-memory",
    "spark.ui.enabled": "false",
}
first = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()


def session():
    made = first.newSession()
    made.conf.set("spark.sql.catalog.lake", "org.apache.iceberg.spark.SparkCatalog")
    made.conf.set("spark.sql.catalog.lake.type", "hadoop")
    made.conf.set("spark.sql.catalog.lake.warehouse", sys.argv[1])
    return made


def load(title, spark):
    try:
        name = spark._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, "lake.db.t").name()
    except Exception as error:
        name = str(error).partition("]")[0] + "]"
    print(f"{title}: {name}")


session().sql("create table lake.db.t (id int) using iceberg")
other = session()
load("a session that has not used the catalog", other)
other.sql("select * from lake.db.t")
load("the same session after a statement", other)
third = session()
third._jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(third._jsparkSession)
load("an unused session that is the active one", third)
PYTHON
"$folder/venv/bin/python" "$folder/program.py" "$folder/warehouse" 2> "$folder/log" | tee "$folder/output"
diff - "$folder/output" <<'OUTPUT'
a session that has not used the catalog: [REQUIRES_SINGLE_PART_NAMESPACE]
the same session after a statement: lake.db.t
an unused session that is the active one: lake.db.t
OUTPUT
