"""The errors and warnings of an audit: a model's data tests on rows that are staged."""

from __future__ import annotations

from collections.abc import Sequence

from iceberg_incremental.errors import AuditError, ConfigError
from iceberg_incremental.explain.entries import indexed
from iceberg_incremental.explain.wording import short
from iceberg_incremental.table.history import TableName

from ..project.data_tests import Audit, DataTest


@indexed
def audit_failed(model: str, audits: Sequence[Audit]) -> AuditError:
    """Data tests of severity error failed on the rows that a run was about to publish."""
    lines = "".join(f"\n    - {_found(audit)}, error_if {audit.test.error_if}" for audit in audits)
    return AuditError(
        f"The new rows of {model} were not published: its data tests failed on them.\n"
        "  Expected: rows that pass the model's generic tests before anyone can read them, as `audit: true` asks for.\n"
        f"  Found:{lines}\n"
        "  The table and its checkpoint are as they were. To fix: correct the rows at their source or in the "
        f"model's SQL, or correct the tests; then `dbt run --select {short(model)}` reads the same range again. If the "
        "source is corrected by UPDATE or DELETE, ip_changes() reads the corrected range as long as only rows change "
        "that the model has not read yet, and no compaction moves older rows; else the next run says what to do."
    )


@indexed
def not_judged(model: str, test: DataTest, error: str) -> AuditError:
    """A test could not be carried out on staged rows."""
    return AuditError(
        f"The new rows of {model} were not published: the data test {test.name} could not be carried out on them.\n"
        "  Expected: a test that runs on the table's staged state, as `audit: true` asks for.\n"
        f"  Found: {error}\n"
        "  The table and its checkpoint are as they were. To fix: correct the test, or remove `audit`."
    )


def warned(model: str, audit: Audit) -> str:
    """A test warns of rows that are published."""
    return f"The audit of {model} warns: {_found(audit)}, warn_if {audit.test.warn_if}. The rows are published."


@indexed
def audit_table_in_the_way(model: str, table: TableName) -> ConfigError:
    """A table of another kind has the name of the one in which the rows of a rebuild are judged."""
    return ConfigError(
        f"The rows of {model} cannot be judged before they are published: {table} is a table of another kind.\n"
        "  Expected: no table of this name, or one that an earlier audit of the model left.\n"
        "  To fix: rename that table, or give the model another alias."
    )


def left_out(model: str, test: DataTest, reason: str) -> str:
    """A test cannot be carried out within the run of a model."""
    return f"{test.name} is not part of the audit of {model}, as {reason}: dbt test runs it."


def known(audit: Audit, snapshot_id: int) -> str:
    """A test need not be carried out again."""
    return f"{audit.test.name} was carried out in the model's audit, on the very snapshot {snapshot_id}: not again."


def _found(audit: Audit) -> str:
    return f"{audit.test.name}: {audit.failures} found"
