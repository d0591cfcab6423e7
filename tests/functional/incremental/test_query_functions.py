"""The list of Spark's functions in iceberg_incremental.query agrees with Spark."""

from __future__ import annotations

from dbt.adapters.spark_iceberg.spark.in_process.session import SessionConnection
from iceberg_incremental.query.text import functions

KNOWN = (
    functions.VOLATILE
    | functions.NOT_DETERMINISTIC
    | functions.UNSUPPORTED
    | functions.AGGREGATES
    | functions.EXACT_IN_WINDOWS
    | functions.INEXACT_IN_WINDOWS
    | functions.GENERATORS
    | functions.SCALARS
)
SYNTAX = {"and", "between", "case", "in", "or", "when"}


def _functions(outside: SessionConnection) -> set[str]:
    found = {row[0].rpartition(".")[2].lower() for row in outside.session.sql("show system functions").collect()}
    return {name for name in found if name.isidentifier()} - SYNTAX


def test_each_function_is_known(outside: SessionConnection) -> None:
    assert _functions(outside) <= KNOWN


def test_no_function_that_is_not_deterministic_counts_as_deterministic(outside: SessionConnection) -> None:
    classes = outside.session._jvm.java.lang.Class
    marker = classes.forName("org.apache.spark.sql.catalyst.expressions.Nondeterministic")
    harmless = KNOWN - functions.VOLATILE - functions.NOT_DETERMINISTIC - functions.UNSUPPORTED
    wrong = []
    for name in sorted(_functions(outside) & harmless):
        described = outside.session.sql(f"describe function extended {name}").collect()
        (shown,) = [row[0] for row in described if row[0].startswith("Class:")]
        if marker.isAssignableFrom(classes.forName(shown.split()[-1])):
            wrong.append(name)
    assert wrong == []
