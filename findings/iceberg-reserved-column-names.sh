#!/usr/bin/env bash
# Question: what happens to a column that has the name of one of Iceberg's metadata columns, such as _file or _row_id?
# Guess: CREATE TABLE fails, because the names are reserved; or the table's own column hides the metadata column.
# Found with Spark 4.1.4 and Iceberg 1.12.0: Spark creates the table and INSERT commits rows, without a warning. Queries
#   of the other columns work, and so does DELETE. Each query that reads the column, such as SELECT *, fails: "Table
#   column names conflict with names reserved for Iceberg metadata columns". Once the column is renamed, its values can be
#   read. In upper case, the same name is an ordinary column.
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


def attempt(title, sql):
    try:
        rows = [tuple(row) for row in spark.sql(sql).collect()]
    except Exception as error:
        cause = getattr(error, "java_exception", None)
        print(f"{title}: {str(cause.getMessage() if cause else error).splitlines()[0][:90]}")
    else:
        print(f"{title}: {rows or 'done'}")


for name in ("_file", "_row_id", "_FILE"):
    table = f"lake.db.of{name}".lower() + str(name.isupper())
    attempt(f"create with {name}", f"create table {table} (id int, `{name}` string) using iceberg")
    attempt("insert", f"insert into {table} values (1, 'a')")
    attempt("read the other column", f"select id from {table}")
    attempt("read the column", f"select `{name}` from {table}")
    attempt("read all", f"select * from {table}")
    attempt("delete", f"delete from {table} where id = 2")
    attempt("rename", f"alter table {table} rename column `{name}` to other")
    attempt("read all", f"select * from {table}")
PYTHON
"$folder/venv/bin/python" "$folder/program.py" "$folder/warehouse" 2> "$folder/log" | tee "$folder/output"
diff - "$folder/output" <<'OUTPUT'
create with _file: done
insert: done
read the other column: [(1,)]
read the column: Table column names conflict with names reserved for Iceberg metadata columns: [_file].
read all: Table column names conflict with names reserved for Iceberg metadata columns: [_file].
delete: done
rename: done
read all: [(1, 'a')]
create with _row_id: done
insert: done
read the other column: [(1,)]
read the column: Table column names conflict with names reserved for Iceberg metadata columns: [_row_id].
read all: Table column names conflict with names reserved for Iceberg metadata columns: [_row_id].
delete: done
rename: done
read all: [(1, 'a')]
create with _FILE: done
insert: done
read the other column: [(1,)]
read the column: [('a',)]
read all: [(1, 'a')]
delete: done
rename: done
read all: [(1, 'a')]
OUTPUT
