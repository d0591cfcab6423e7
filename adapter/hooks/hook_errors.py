"""The errors of audits."""

from __future__ import annotations

from collections.abc import Sequence

from iceberg_incremental.errors import AuditError, ConfigError
from iceberg_incremental.explain.wording import short
from iceberg_incremental.table.history import TableName

from ..project.data_tests import Audit, DataTest


def audit_failed(model: str, audits: Sequence[Audit]) -> AuditError:
    """Data tests with severity ``error`` failed on the rows that a run was about to publish."""
    lines = "".join(
        f"\n    - {audit.test.name}: {audit.failures} found, error_if {audit.test.error_if}" for audit in audits
    )
    return AuditError(
        f"The new rows of {model} were not published: its data tests failed on them.",
        expected="rows that pass the model's generic tests before anyone can read them, since `audit` is true.",
        found=lines,
        state="The table and its checkpoint are unchanged.",
        fix="correct the rows in the source or in the model's SQL, or correct the tests. Then `dbt run --select "
        f"{short(model)}` reads the same range again. ip_changes() can read a range whose rows were corrected with "
        "UPDATE or DELETE, unless the correction also changes rows that the model has already read, or a compaction "
        "moves such rows. In these cases, the next run fails with an error that lists the fixes.",
    ).named("audit-failed")


def audit_test_failed_to_run(model: str, test: DataTest, error: str) -> AuditError:
    """A test could not run on staged rows."""
    return AuditError(
        f"The new rows of {model} were not published: the data test {test.name} could not run on them.",
        expected="a test that can run on the staged table, since `audit` is true.",
        found=error,
        state="The table and its checkpoint are unchanged.",
        fix="correct the test, or remove `audit`.",
    ).named("audit-test-failed-to-run")


def audit_table_in_the_way(model: str, table: TableName) -> ConfigError:
    """Another table has the name of the table in which the rows of a rebuild are audited."""
    return ConfigError(
        f"The rows of {model} cannot be audited before they are published: {table} is used for something else.",
        expected="no table of this name, or the table of an earlier audit of the model.",
        fix="rename that table, or set a different alias for the model.",
    ).named("audit-table-in-the-way")
