"""The address and credentials of a Spark Connect server, as fields and as Spark's connection string.

The format of the string is ``sc://host:port/;key=value``, as described in
https://spark.apache.org/docs/latest/spark-connect-overview.html.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, unquote, urlsplit

from dbt_common.exceptions import DbtRuntimeError

PORT = 15002
"""Spark's default port."""

_SCHEME = "sc"
_FORMAT = "sc://host:port/;key=value;key=value"
# Two dbt threads with the same session would share settings and temporary views.
_SESSION = "session_id"


@dataclass(frozen=True)
class Remote:
    """A server. ``headers``: additional headers of each call, which some services require. ``token`` is a secret."""

    host: str
    port: int = PORT
    use_ssl: bool = False
    token: str | None = field(default=None, repr=False)
    user: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def parse(cls, text: str) -> Remote:
        """Parse a connection string. Raises a DbtRuntimeError for invalid text, without showing the text."""
        address, _, rest = text.strip().partition("/;")
        split = urlsplit(address)
        try:
            host, port = split.hostname, split.port
        except ValueError as error:
            raise _unreadable("its port is not a number from 0 to 65535") from error
        if split.scheme != _SCHEME or not host:
            raise _unreadable("it does not start with sc:// and a host")
        if split.username is not None:
            raise _unreadable("it has a user before the host, instead of user_id=… after the slash")
        if split.path not in ("", "/") or split.query or split.fragment:
            raise _unreadable("the host and port are followed by something other than /;key=value")
        given = dict(_pairs(rest))
        if _SESSION in given:
            raise DbtRuntimeError(
                f"`remote` names a session (`{_SESSION}`), but each dbt thread must have its own session, with its own "
                f"settings and temporary views. Remove `{_SESSION}` from `remote`."
            )
        ssl = given.pop("use_ssl", "false").lower()
        if ssl not in ("true", "false"):
            raise _unreadable("use_ssl is neither true nor false")
        return cls(host, port or PORT, ssl == "true", given.pop("token", None), given.pop("user_id", None), given)

    @property
    def address(self) -> str:
        """Host and port as text."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def url(self, user_agent: str) -> str:
        """The connection string, including the token."""
        given = {"use_ssl": "true" if self.use_ssl else None, "token": self.token, "user_id": self.user}
        pairs = {**given, "user_agent": user_agent, **self.headers}
        written = (f";{key}={quote(value, safe='')}" for key, value in pairs.items() if value is not None)
        return f"{_SCHEME}://{self.address}/{''.join(written)}"


def _pairs(text: str) -> list[tuple[str, str]]:
    pairs = [each.split("=") for each in text.split(";") if each]
    if any(len(pair) != 2 for pair in pairs):
        raise _unreadable("the part after the slash is not a list of key=value")
    return [(key, unquote(value)) for key, value in pairs]


def _unreadable(why: str) -> DbtRuntimeError:
    return DbtRuntimeError(f"`remote` cannot be read: {why}. Expected: {_FORMAT}. Correct it in profiles.yml.")
