"""The fixes for failures of a service or disk that Spark uses."""

from __future__ import annotations

import re

from iceberg_incremental.errors import message

_CONTINUES = "An iceberg_incremental_snapshot model continues from its last commit: no row is lost or duplicated."

_FULL = re.compile(r"No space left on device|Disk quota exceeded|SQLITE_FULL|database or disk is full|could not extend")
_MAKE_SPACE = message("The disk or a quota is full.", fix=f"free some space, then run again. {_CONTINUES}")

_UNKNOWN = re.compile(r"CommitStateUnknownException|Cannot determine whether the commit was successful")
# Iceberg's advice to check the commit before repeating it. It is removed, because the next run checks the commit.
_ADVICE = re.compile(r"\s*Cannot determine whether the commit was successful.*?unused manifest lists\.?", re.DOTALL)
_LOST = message(
    "The catalog's response to a commit was lost or was a server error. It is unknown whether the catalog completed "
    "the commit.",
    fix=f"run again when the catalog responds. {_CONTINUES} If the same server error recurs, the catalog cannot make "
    "this commit: see its message above and its log, and use a catalog that supports what the commit does.",
)

_NETWORK = (
    r"Connection refused|Connection reset|Connection closed|Broken pipe|[Cc]onnect timed out|Read timed out"
    r"|UnknownHost|NoRouteToHost|SocketException|EOFException"
    r"|failed to respond|Unexpected end of (?:file|stream)|Premature end of"
)
_CLIENTS = (
    # Iceberg's jdbc catalog and REST client, the drivers of PostgreSQL and SQLite, and the AWS SDK
    r"UncheckedSQLException|RESTException|ServiceFailureException|ServiceUnavailableException"
    r"|Error occurred while processing|I/O error occurred while sending to the backend|The connection attempt failed"
    r"|Connection to \S+ refused|This connection has been closed|SQLITE_IOERR"
    r"|Unable to execute HTTP request|Status Code: 5\d\d"
)
_DOWN = re.compile(f"{_NETWORK}|{_CLIENTS}")
_WAIT = message(
    "The catalog or the tables' file storage was unreachable, or responded with an error.",
    fix=f"run again when it is available. {_CONTINUES}",
)
# A table with a branch, a snapshot or `changes` after its name. Iceberg first tries to load the whole name as a table.
# It then ignores every error that occurs while it loads the table itself.
_HIDDEN = re.compile(r"TABLE_OR_VIEW_NOT_FOUND\][^`]*(?:`[^`]+`\.){3,}`(?:branch_|tag_|snapshot_id_|changes`)")
_LOOK = message(
    "Iceberg also reports this error if the catalog did not respond.",
    fix=f"if the table exists, run again. {_CONTINUES}",
)


def with_fix(shown: str) -> str:
    """A Spark error with a fix added, if a service or disk failed and the error has no fix yet."""
    if "To fix" in shown:
        return shown
    causes = ((_FULL, _MAKE_SPACE), (_UNKNOWN, _LOST), (_DOWN, _WAIT), (_HIDDEN, _LOOK))
    fix = next((text for cause, text in causes if cause.search(shown)), None)
    return shown if fix is None else f"{_ADVICE.sub('', shown)}\n{fix}"
