"""What to do where a service or a disk under Spark failed, and not the statement. Texts only."""

from __future__ import annotations

import re

_CONTINUES = "A model of iceberg_incremental_snapshot continues from its last commit: no row is lost or duplicated."

_FULL = re.compile(r"No space left on device|Disk quota exceeded|SQLITE_FULL|database or disk is full|could not extend")
_MAKE_SPACE = f"The disk, or a quota, is full.\n  What to do: make space, then run again. {_CONTINUES}"

_UNKNOWN = re.compile(r"CommitStateUnknownException|Cannot determine whether the commit was successful")
_LOST = (
    "The answer to a commit was lost; whether the catalog has carried it out is not known.\n"
    f"  What to do: run again when the catalog answers. {_CONTINUES}"
)

_NETWORK = (
    r"Connection refused|Connection reset|Connection closed|Broken pipe|[Cc]onnect timed out|Read timed out"
    r"|UnknownHost|NoRouteToHost|SocketException|failed to respond|Unexpected end of (?:file|stream)|Premature end of"
)
_CLIENTS = (
    # Iceberg's REST client, the drivers of PostgreSQL and SQLite, Amazon's SDK
    r"RESTException|ServiceFailureException|ServiceUnavailableException|Error occurred while processing"
    r"|I/O error occurred while sending to the backend|The connection attempt failed|Connection to \S+ refused"
    r"|This connection has been closed|SQLITE_IOERR|Unable to execute HTTP request|Status Code: 5\d\d"
)
_DOWN = re.compile(f"{_NETWORK}|{_CLIENTS}")
_WAIT = (
    "The catalog, or the store of the tables' files, was not reached or did not answer as it should.\n"
    f"  What to do: run again when it does. {_CONTINUES}"
)


def way_out(message: str) -> str | None:
    """What has failed and what to do, given an error of Spark; None where the cause is not outside of it."""
    causes = ((_FULL, _MAKE_SPACE), (_UNKNOWN, _LOST), (_DOWN, _WAIT))
    return next((text for cause, text in causes if cause.search(message)), None)
