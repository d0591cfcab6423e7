"""Retries commits that Iceberg refused because of a concurrent commit."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable

from ..errors import StatementError

_CONFLICT = re.compile(r"CommitFailedException|Table metadata refresh is required")
ATTEMPTS = 12
"""The maximum number of attempts."""
_PAUSE = 0.05
"""The maximum delay before the second attempt, in seconds. It doubles with each attempt, up to ``_LONGEST_PAUSE``."""
_LONGEST_PAUSE = 2.0


def is_commit_conflict(error: BaseException) -> bool:
    """Whether a commit was refused because the table has changed since it was read."""
    return _CONFLICT.search(str(error)) is not None


def retry_conflicts(send: Callable[[str], object], statement: str) -> None:
    """Execute an idempotent statement, and retry it on conflicts with other commits.

    Iceberg retries commits of rows, but not changes of branches and tags, which fail if another commit is concurrent.
    Raises the statement's other errors, and the conflict of the last attempt.
    """
    for attempt in range(ATTEMPTS):
        try:
            send(statement)
        except StatementError as error:
            if attempt + 1 == ATTEMPTS or not is_commit_conflict(error):
                raise
            pause(attempt + 1)
        else:
            return


def pause(attempt: int) -> None:
    """Wait for a random time after an attempt, counted from 1, so that concurrent writers do not collide again."""
    time.sleep(random.uniform(0, min(_PAUSE * 2 ** (attempt - 1), _LONGEST_PAUSE)))  # noqa: S311
