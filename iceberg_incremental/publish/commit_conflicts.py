"""Recognizes commits that were refused because of a concurrent commit, and retries them.

Errors are recognized by their text, because Spark, Py4J and PyIceberg raise different classes for one response.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import StatementError
from ..explain import metadata_errors
from ..table.history import TableName

_NOT_ALLOWED = re.compile(r"\w*(?:AccessDenied|BadRequest|Forbidden|NotAuthorized)\w*: .*")
_STALE = re.compile(
    r"CommitFailedException|Table metadata refresh is required"
    # Another branch has used the number. Some servers respond with 400, which no client retries, instead of 409.
    r"|Cannot add snapshot with sequence number -?\d+ older than"
    r"|first-row-id is behind|first row id smaller than the table's next-row-id"
)
_POSSIBLE = re.compile(
    rf"{_STALE.pattern}|ValidationException|Found conflicting|Missing required files to delete|Cannot commit"
    r"|Cannot fast-forward|Ref does not exist"
)
MOST_OF_METADATA, MOST_WITH_ROWS = 12, 4
"""The maximum number of attempts, of a commit of metadata alone, and of one for which rows are computed again."""
_PAUSE = 0.05
"""The maximum delay before the second attempt, in seconds. It doubles with each attempt, up to ``_LONGEST_PAUSE``."""
_LONGEST_PAUSE = 2.0


@contextmanager
def explaining_refusals(table: TableName, doer: str, needs: str = metadata_errors.RUN_NEEDS) -> Iterator[None]:
    """Convert errors of requests that the catalog of a table does not allow to ``refused_request``.

    ``doer``, ``needs``: the model or operation, and what it does with the table.
    """
    try:
        yield
    except StatementError as error:
        found = None if may_be_conflict(error) else _NOT_ALLOWED.search(error.msg)
        if found is None:
            raise
        raise metadata_errors.refused_request(table, doer, found[0], needs) from error


def is_commit_conflict(error: BaseException) -> bool:
    """Whether a commit was refused because the table has changed since it was read."""
    return _matches(_STALE, error)


def may_be_conflict(error: BaseException) -> bool:
    """Whether another commit may be the cause of an error. If the table is unchanged, it is not."""
    return _matches(_POSSIBLE, error)


def _matches(pattern: re.Pattern[str], error: BaseException) -> bool:
    return pattern.search(f"{type(error).__name__}: {error}") is not None


def attempts(most: int = MOST_WITH_ROWS) -> Iterator[bool]:
    """Whether each attempt is the last one. A random time lies between them, so that writers do not collide again."""
    for attempt in range(most):
        if attempt:
            time.sleep(random.uniform(0, min(_PAUSE * 2 ** (attempt - 1), _LONGEST_PAUSE)))  # noqa: S311
        yield attempt + 1 == most
