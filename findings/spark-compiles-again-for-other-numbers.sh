#!/usr/bin/env bash
# Question: a long-lived Spark executes the same SQL each hour, and only one literal in it differs. Does it compile code
#   again?
# Guess: no. Generated code is cached by the shape of the plan, and literals are parameters of it.
# Found with Spark 4.1.4: it depends on the type of the literal. An INT or BIGINT is part of the generated code, so that
#   each new value compiles each stage that contains it again. A DECIMAL and a STRING are references, so their stages are
#   compiled once. A DECIMAL that is compared with a BIGINT does not help, because the optimizer turns it into a BIGINT.
#   In a DELETE with a sequence number in a subquery, on a table of 20,000 rows, compiling took a third of the CPU time.
# Needs: Java 17 or 21.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyspark==4.1.4
cat > "$folder/program.py" <<'PYTHON'
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
columns = "id", "id % 7 as version", "string(id % 7) as text", "cast(id % 7 as decimal(18, 0)) as exact"
spark.range(1000).selectExpr(*columns).localCheckpoint().createTempView("t")
metrics = spark._jvm.org.apache.spark.metrics.source.CodegenMetrics
for name, condition, first in (
    ("INT", "version > {}", 1),
    ("BIGINT", "version > {}L", 11),
    ("DECIMAL, of a BIGINT", "version > cast({} as decimal(18, 0))", 21),
    ("DECIMAL, of a DECIMAL", "exact > cast({} as decimal(18, 0))", 31),
    ("STRING", "text > '{}'", 41),
):
    compiled = []
    for value in range(first, first + 4):
        before = metrics.METRIC_COMPILATION_TIME().getCount()
        spark.sql(f"select id from t where {condition.format(value)}").collect()
        compiled.append(metrics.METRIC_COMPILATION_TIME().getCount() - before)
    print(f"{name}: {compiled[0] > 0} for the first value, {[each > 0 for each in compiled[1:]]} for the next ones")
PYTHON
"$folder/venv/bin/python" "$folder/program.py" 2>> "$folder/log" | tee "$folder/output"
diff - "$folder/output" <<'OUTPUT'
INT: True for the first value, [True, True, True] for the next ones
BIGINT: True for the first value, [True, True, True] for the next ones
DECIMAL, of a BIGINT: True for the first value, [True, True, True] for the next ones
DECIMAL, of a DECIMAL: True for the first value, [False, False, False] for the next ones
STRING: True for the first value, [False, False, False] for the next ones
OUTPUT
