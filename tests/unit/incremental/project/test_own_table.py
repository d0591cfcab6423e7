"""Whether a model reads the table that it writes."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.project.own_table import reads_itself
from iceberg_incremental.table.history import TableName

TABLE = TableName("lake", "shop", "sums")


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("select * from `lake`.`shop`.`sums`", True),
        ("select * from Shop.Sums", True),
        ("select * from lake.shop.orders", False),
        (None, False),
    ],
)
def test_sql_that_names_its_own_table(sql, found):
    assert reads_itself({"compiled_code": sql}, TABLE) is found


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("session.table(str(dbt.this))", True),
        ('session.table("lake.shop.sums")', True),
        ('dbt.ip_changes(dbt.ref("orders"))', False),
    ],
)
def test_python_that_uses_this_or_names_its_own_table(code, found):
    """dbt's compiled code of each Python model contains ``this``, so only the raw code is checked for it."""
    node = {"language": "python", "raw_code": code, "compiled_code": "class this: lake.shop.sums"}
    assert reads_itself(node, TABLE) is found
