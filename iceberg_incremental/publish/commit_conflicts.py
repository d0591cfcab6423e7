"""Commits that Iceberg refused because another one came between."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable

from ..errors import StatementError

_SAYS_SO = re.compile(r"CommitFailedException|Table metadata refresh is required")
ATTEMPTS = 12
"""How often a commit is tried."""
_PAUSE = 0.05
"""Seconds, at the most, before the second attempt; twice as many before each later one, up to ``_LONGEST_PAUSE``."""
_LONGEST_PAUSE = 2.0


def is_commit_conflict(error: BaseException) -> bool:
    """Whether a commit was refused because the table had moved on since it was read."""
    return _SAYS_SO.search(str(error)) is not None


def retry_conflicts(send: Callable[[str], object], statement: str) -> None:
    """Send a statement that may be sent twice, again and again while other commits come between.

    Iceberg itself does so for commits of rows, not for those of refs, so that of two at a time one fails.
    Raises what the statement raises for any other reason, or at the last attempt.
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
    """Wait after an attempt, the first being 1, for a random time: those that met once must not meet again."""
    time.sleep(random.uniform(0, min(_PAUSE * 2 ** (attempt - 1), _LONGEST_PAUSE)))  # noqa: S311
