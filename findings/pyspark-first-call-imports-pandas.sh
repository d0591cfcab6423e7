#!/usr/bin/env bash
# Question: what does a PySpark program import that never touches pandas, in an environment where pandas is installed?
# Guess: py4j and PySpark's own modules; pandas only with toPandas(), pandas_udf or the pandas API.
# Found with PySpark 4.1.4, pandas 2.3.3: the first call of a Java method with an argument that is not a Java object
#   imports pandas. PySpark registers py4j converters for NumPy values. To ask whether NumPy is installed, they import
#   pyspark.testing.utils, which imports pandas to know whether that is installed. The import took a third of a second
#   of the 1.3 s that such a program needs before its first statement, in every process, even in spark.conf.set().
# Needs: Java 17 or 21.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyspark==4.1.4 pandas==2.3.3
cat > "$folder/program.py" <<'PYTHON'
import sys

from pyspark.sql import SparkSession

print("after the import of pyspark.sql:", "pandas" in sys.modules)
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("spark.sql.shuffle.partitions", "1")
print("after the first setting:", "pandas" in sys.modules)
print("through pyspark.testing:", "pyspark.testing.utils" in sys.modules)
spark.stop()
PYTHON
"$folder/venv/bin/python" "$folder/program.py" 2> "$folder/log" | tee "$folder/output"
diff - "$folder/output" <<'OUTPUT'
after the import of pyspark.sql: False
after the first setting: True
through pyspark.testing: True
OUTPUT
