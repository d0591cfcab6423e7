"""What the user is shown where a Spark Connect server is not reached, does not let dbt in, or is lost. Texts only."""

from __future__ import annotations

import re

_DETAILS = re.compile(r'details = "(.*?)"$', re.MULTILINE)
_SSL = re.compile(r"ssl|handshake|certificate|tls", re.IGNORECASE)

REFUSED = ("UNAUTHENTICATED", "PERMISSION_DENIED")
"""gRPC's status codes of a server that does not let this client in."""

LOST = ("UNAVAILABLE", "DEADLINE_EXCEEDED")
"""gRPC's status codes of a server that was not reached."""

_SESSION_GONE = re.compile(
    r"INVALID_HANDLE\.(SESSION_CHANGED|SESSION_CLOSED|SESSION_NOT_FOUND|OPERATION_NOT_FOUND|OPERATION_ABANDONED)"
    r"|RESPONSE_ALREADY_RECEIVED|NO_ACTIVE_SESSION|incorrect server side session identifier"
)


def details(text: str) -> str:
    """The own words of gRPC in what it prints of an error; the first line of any other text."""
    found = _DETAILS.search(text)
    return found[1] if found else text.strip().partition("\n")[0]


def lost(found: str) -> str:
    """The server was lost while it ran a statement, or between two."""
    return (
        "The connection to the Spark Connect server was lost.\n"
        "  Expected: the server, and this connection's session there, for as long as the connection is open.\n"
        f"  Found: {found}\n"
        "  To fix: run dbt again once the server is up. Whether the statement was completed is not known; it was "
        "not sent again."
    )


def refused(found: str) -> str:
    """The server does not let this client in."""
    return (
        "The Spark Connect server refuses this client.\n"
        "  Expected: a token that the server knows.\n"
        f"  Found: {found}\n"
        "  To fix: give the server's token as `token` in the profile, or within `remote`."
    )


def unreachable(address: str, use_ssl: bool, found: str) -> str:
    """No server answered when the connection was opened."""
    if _SSL.search(found):
        other = "not use TLS: leave out `use_ssl`" if use_ssl else "expect TLS: set `use_ssl: true`"
        fix = f"the server may {other} in the profile. A token alone makes the client use TLS, but for `localhost`."
    else:
        fix = "start the server, or correct `host` and `port`, or `remote`, in the profile."
    return (
        f"No Spark Connect server was reached at {address}.\n"
        "  Expected: a server that answers there.\n"
        f"  Found: {found}\n"
        f"  To fix: {fix}"
    )


def explained(code: str, message: str) -> str | None:
    """What an error of an open connection means, from gRPC's status code and the message; None for Spark's own."""
    if code in REFUSED:
        return refused(details(message))
    if code in LOST or _SESSION_GONE.search(message):
        return lost(details(message))
    return None
