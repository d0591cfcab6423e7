"""The error messages for a Spark Connect server that is unreachable, refuses dbt, or is lost."""

from __future__ import annotations

import re

from iceberg_incremental.errors import message

_DETAILS = re.compile(r'details = "(.*?)"$', re.MULTILINE)
_SSL = re.compile(r"ssl|handshake|certificate|tls", re.IGNORECASE)

REFUSED = ("UNAUTHENTICATED", "PERMISSION_DENIED")
"""The gRPC status codes of a server that refuses this client."""

LOST = ("UNAVAILABLE", "DEADLINE_EXCEEDED")
"""The gRPC status codes for an unreachable server."""

_SESSION_GONE = re.compile(
    r"INVALID_HANDLE\.(SESSION_CHANGED|SESSION_CLOSED|SESSION_NOT_FOUND|OPERATION_NOT_FOUND|OPERATION_ABANDONED)"
    r"|RESPONSE_ALREADY_RECEIVED|NO_ACTIVE_SESSION|incorrect server side session identifier"
)


def details(text: str) -> str:
    """The details in a printed gRPC error; the first line of any other text."""
    found = _DETAILS.search(text)
    return found[1] if found else text.strip().partition("\n")[0]


def lost(found: str) -> str:
    """The connection was lost during a statement, or between two statements."""
    return message(
        "The connection to the Spark Connect server was lost.",
        expected="a server that keeps this connection's session while the connection is open.",
        found=found,
        fix="run dbt again once the server is up. It is unknown whether the statement completed; it was not sent "
        "again.",
    )


def refused(found: str) -> str:
    """The server refuses this client."""
    return message(
        "The Spark Connect server refuses this client.",
        expected="a token that the server accepts.",
        found=found,
        fix="set the server's token as `token`, in `remote` or in your `session_factory`.",
    )


def unreachable(address: str, use_ssl: bool, found: str) -> str:
    """No server answered when the connection was opened."""
    if _SSL.search(found):
        other = "not use TLS: remove `use_ssl`" if use_ssl else "expect TLS: set `use_ssl: true`"
        fix = (
            f"the server may {other} in the profile. With a token, the client uses TLS unless the host is `localhost`."
        )
    else:
        fix = "start the server, or correct `host` and `port`, `remote` or `session_factory` in the profile."
    return message(
        f"The Spark Connect server at {address} is unreachable.",
        expected="a server that responds at this address.",
        found=found,
        fix=fix,
    )


def explained(code: str, message: str) -> str | None:
    """The message for an error of an open connection, from gRPC's status code and message. None for Spark's errors."""
    if code in REFUSED:
        return refused(details(message))
    if code in LOST or _SESSION_GONE.search(message):
        return lost(details(message))
    return None
