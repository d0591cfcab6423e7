#!/usr/bin/env bash
# Question: what does it cost to iterate over a small Java collection from a PySpark program?
# Guess: one call of the JVM for each item and one more, about as much as reading the items by their positions.
# Found with PySpark 4.1.4: the end of the iteration costs more than 50 other calls. Py4J asks for items until Java
#   raises NoSuchElementException. PySpark replaces Py4J's function for errors, and compares the exception with each of
#   its own error classes by calls of the JVM, for which the JVM also looks for the class of Py4J that compares them.
#   Each iteration over a map, a set or a list so makes 50 calls or more for one item, and takes 30 ms or more in a
#   program that has Iceberg's jars on its class path. toArray() and positions need a handful.
# Needs: Java 17 or 21.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyspark==4.1.4
cat > "$folder/program.py" <<'PYTHON'
from py4j.java_gateway import GatewayClient
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
items = spark._jvm.java.util.ArrayList()
items.add("a")
calls, original = [], GatewayClient.send_command


def counted(client, command, *args, **kwargs):
    calls.append(command)
    return original(client, command, *args, **kwargs)


GatewayClient.send_command = counted
for how, read in (("iterated", lambda: list(items)), ("by position", lambda: [items.toArray()[0]])):
    calls.clear()
    assert read() == ["a"]
    print(how, "more than 50 calls" if len(calls) > 50 else "fewer than 10 calls" if len(calls) < 10 else len(calls))
spark.stop()
PYTHON
"$folder/venv/bin/python" "$folder/program.py" 2> "$folder/log" | tee "$folder/output"
diff - "$folder/output" <<'OUTPUT'
iterated more than 50 calls
by position fewer than 10 calls
OUTPUT
