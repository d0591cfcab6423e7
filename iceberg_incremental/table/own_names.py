"""The names of what runs of this package make beside a model's rows: branches ``ip_<epoch>_<number>``, and tables."""

from __future__ import annotations

import re
from dataclasses import replace

from .history import TableName

AUDIT_KEY = "ip.audit-of"
"""The property of an audit table: the table whose rows are judged there. In the summary of a commit to it: the run that
made it, by the name of its branch."""
_OWN_BRANCH = re.compile(r"ip_(\d+)_[0-9a-f]{12}")


def epoch_of(branch: str) -> int | None:
    """The epoch that a run stages on a branch; None for a branch that is none of this package."""
    match = _OWN_BRANCH.fullmatch(branch)
    return None if match is None else int(match.group(1))


def is_dead(branch: str, epoch: int) -> bool:
    """Whether a branch is one of this package that can never be published any more: its epoch has been published."""
    own = epoch_of(branch)
    return own is not None and own <= epoch


def audit_table(target: TableName) -> TableName:
    """The table in which the rows of a rebuild are judged: CREATE OR REPLACE TABLE AS has no branch to stage on."""
    return replace(target, name=f"{target.name}__ip_audit")
