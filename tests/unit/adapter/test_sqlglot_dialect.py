from __future__ import annotations

import subprocess
import sys

import sqlglot
from sqlglot.dialects import Spark


def test_sqlglot_finds_the_dialect_by_the_adapters_type():
    assert isinstance(sqlglot.Dialect.get_or_raise("spark_iceberg"), Spark)
    assert sqlglot.transpile("select `a` from t", read="spark_iceberg", write="duckdb") == ['SELECT "a" FROM t']


def test_a_pinned_relation_is_parsed():
    sql = "SELECT * FROM lake.ops.flights VERSION AS OF 12 AS f"
    assert sqlglot.parse_one(sql, dialect="spark_iceberg").sql("spark_iceberg") == sql


def test_the_adapter_imports_sqlglot_only_when_it_has_sql_to_parse():
    code = "import sys; import dbt.adapters.spark_iceberg; assert 'sqlglot' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
