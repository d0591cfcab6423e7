#!/usr/bin/env bash
# Question: for how long does a Spark Thrift server have the classes of the packages that it was started with
#   (spark.jars.packages)?
# Guess: as long as it runs. Each connection has its own session, and the jars belong to the server.
# Found with Spark 4.1.4 (PyHive 0.7.0 as the client): until the first connection is closed. Classes that no statement has
#   used before then can no longer be loaded, in new sessions too: NoClassDefFoundError, or "Cannot find constructor for
#   interface org.apache.iceberg.catalog.Catalog". Catalogs in use may go on working for a while. Sessions share the class
#   loader of the packages, and the end of a session closes it. Jars that spark.driver.extraClassPath names stay.
# Needs: Java 17 or 21, and Maven's central repository.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyspark==4.1.4 PyHive==0.7.0 thrift==0.22.0 thrift-sasl==0.4.3 pure-sasl==0.6.2
cat > "$folder/program.py" <<'PYTHON'
import socket
import subprocess
import sys
import time
from pathlib import Path

import pyspark
from pyhive import hive

folder = Path(sys.argv[1])
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
settings = {
    "spark.jars.packages": "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
    "spark.master": "local[1]",
    "spark.ui.enabled": "false",
    "spark.sql.warehouse.dir": str(folder / "spark"),
    "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/metastore;create=true",
    "spark.hadoop.hive.server2.authentication": "NOSASL",
    "spark.hadoop.hive.server2.thrift.bind.host": "127.0.0.1",
    "spark.hadoop.hive.server2.thrift.port": str(port),
}
for name, implementation in {"first": "hadoop.HadoopCatalog", "second": "inmemory.InMemoryCatalog"}.items():
    settings[f"spark.sql.catalog.{name}"] = "org.apache.iceberg.spark.SparkCatalog"
    settings[f"spark.sql.catalog.{name}.catalog-impl"] = f"org.apache.iceberg.{implementation}"
    settings[f"spark.sql.catalog.{name}.warehouse"] = str(folder / name)
home = Path(pyspark.__file__).parent
command = [home / "bin" / "spark-submit", "--class", "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"]
command += [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
server = subprocess.Popen([*map(str, command), "spark-internal"], stdout=subprocess.DEVNULL,
                          stderr=(folder / "log").open("w"), cwd=folder)
try:
    for _ in range(300):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(1)

    def attempt(title, connection, catalog):
        try:
            connection.cursor().execute(f"create schema {catalog}.db")
        except Exception as error:
            print(f"{title}: " + ("a class is missing" if "Class" in str(error) else str(error)[:200]))
        else:
            print(f"{title}: works")

    one = hive.connect("127.0.0.1", port, auth="NOSASL")
    attempt("the first session, first catalog", one, "first")
    if closes := sys.argv[2] == "close":
        one.close()
    other = hive.connect("127.0.0.1", port, auth="NOSASL")
    attempt(f"another session, {'after the first' if closes else 'beside it'}, second catalog", other, "second")
finally:
    server.terminate()
    server.wait()
PYTHON
for action in keep close; do
  mkdir "$folder/$action"
  "$folder/venv/bin/python" "$folder/program.py" "$folder/$action" "$action"
done | tee "$folder/output"
diff - "$folder/output" <<'OUTPUT'
the first session, first catalog: works
another session, beside it, second catalog: works
the first session, first catalog: works
another session, after the first, second catalog: a class is missing
OUTPUT
