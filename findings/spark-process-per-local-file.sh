#!/usr/bin/env bash
# Question: how many processes does a running Spark start to write an Iceberg table in a local folder?
# Guess: none. The JVM opens, writes and closes the files.
# Found with Spark 4.1.4 (Hadoop 3.4.2) and Iceberg 1.12.0: one for each file or folder that is made, `chmod`, also for the
#   checksum beside each file. An insert of one row starts 11. Hadoop sets the permissions of a new file by the program, unless its native library is
#   there, and Spark from the Python package index has none. A process takes 2 to 3 ms, in which the writer waits.
#   Another implementation of the `file` scheme that uses java.nio (fs.file.impl) starts none.
# Needs: Java 17 or 21, and Maven's central repository.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyspark==4.1.4
mkdir "$folder/bin"
cat > "$folder/bin/chmod" <<SHELL
#!/bin/sh
echo "\$1" >> "$folder/started"
PATH=\${PATH#*:} exec chmod "\$@"
SHELL
chmod +x "$folder/bin/chmod"
cat > "$folder/program.py" <<'PYTHON'
import sys
from pathlib import Path

from pyspark.sql import SparkSession

folder, file_system = Path(sys.argv[1]), sys.argv[2]
naked = "com.globalmentor:hadoop-bare-naked-local-fs:0.1.0"
settings = {
    "spark.jars.packages": f"org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0,{naked}",
    "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.lake.type": "hadoop",
    "spark.sql.catalog.lake.warehouse": str(folder / file_system),
    "spark.ui.enabled": "false",
}
spark = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
if file_system != "org.apache.hadoop.fs.LocalFileSystem":
    for key, value in {"": file_system, ".disable.cache": "true"}.items():
        spark._jsc.hadoopConfiguration().set(f"fs.file.impl{key}", value)


def entries():
    """All files and folders of the table, where a file that was replaced is another one."""
    return ((path, path.stat().st_ino) for path in (folder / file_system / "db" / "t").rglob("*"))


spark.sql("create table lake.db.t (id int) using iceberg")
started = folder / "started"
started.unlink(missing_ok=True)
before = set(entries())
spark.sql("insert into lake.db.t values (1)")
made = set(entries()) - before
processes = started.read_text().split() if started.exists() else []
name = file_system.rpartition(".")[2]
print(f"{name}: an insert of one row makes {len(made)} files and folders, and starts {len(processes)} processes")
PYTHON
for name in org.apache.hadoop.fs.LocalFileSystem com.globalmentor.apache.hadoop.fs.BareLocalFileSystem; do
  PATH="$folder/bin:$PATH" "$folder/venv/bin/python" "$folder/program.py" "$folder" "$name" 2>> "$folder/log"
done | tee "$folder/output"
diff - "$folder/output" <<'OUTPUT'
LocalFileSystem: an insert of one row makes 11 files and folders, and starts 11 processes
BareLocalFileSystem: an insert of one row makes 11 files and folders, and starts 0 processes
OUTPUT
