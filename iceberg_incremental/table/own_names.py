"""The names of the branches (``ip_<epoch>_<number>``) and tables that runs of this package create for a model."""

from __future__ import annotations

import re
from dataclasses import replace

from .history import TableName

AUDIT_KEY = "ip.audit-of"
"""The property of an audit table that names the audited table. In the summary of a commit to the audit table, the value
is the branch of the run that wrote it."""
BEGUN_KEY = "ip.build-began"
"""The property of a table of dbt's materialization ``table`` with the start of its build, in ms by dbt's clock. The
build may not have read rows that its inputs received after this time."""
_OWN_BRANCH = re.compile(r"ip_(\d+)_[0-9a-f]{12}")


def epoch_of(branch: str) -> int | None:
    """The epoch that a run stages on a branch. None if the branch is not from this package."""
    match = _OWN_BRANCH.fullmatch(branch)
    return None if match is None else int(match.group(1))


def is_dead(branch: str, epoch: int) -> bool:
    """Whether a branch of this package can no longer be published, because its epoch has been published."""
    own = epoch_of(branch)
    return own is not None and own <= epoch


def audit_table(target: TableName) -> TableName:
    """The table in which the rows of a rebuild are audited, because CREATE OR REPLACE TABLE AS cannot stage rows."""
    return replace(target, name=f"{target.name}__ip_audit")
