"""Converts JDBC URLs to SQLAlchemy URLs. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, unquote, urlencode

_SQLITE = "jdbc:sqlite:"
_POSTGRESQL = "jdbc:postgresql:"
_LIBPQ_NAMES = {
    "sslmode": "sslmode",
    "sslrootcert": "sslrootcert",
    "sslcert": "sslcert",
    "sslkey": "sslkey",
    "connectTimeout": "connect_timeout",
    "ApplicationName": "application_name",
    "options": "options",
}


class UnmappableUri(Exception):  # noqa: N818 (a reason, caught by the caller)
    """The URL's database cannot be accessed from here. The text is the reason, without the URL."""


def sqlalchemy_uri(jdbc_url: str, parameters: Mapping[str, str]) -> str:
    """The SQLAlchemy URL for a JDBC URL. ``parameters``: the driver's parameters (user, password, …).

    Raises UnmappableUri for a database other than a SQLite file or PostgreSQL.
    """
    if jdbc_url.startswith(_SQLITE):
        return _sqlite(jdbc_url.removeprefix(_SQLITE))
    if jdbc_url.startswith(_POSTGRESQL):
        return _postgresql(jdbc_url.removeprefix(_POSTGRESQL), parameters)
    database = ":".join(jdbc_url.split(":")[:2]) if jdbc_url.startswith("jdbc:") else "not a JDBC URL"
    raise UnmappableUri(f"its database must be SQLite or PostgreSQL, and its uri is {database}")


def _sqlite(rest: str) -> str:
    location = rest.partition("?")[0]
    path = location.removeprefix("file:")
    if not path or path.startswith(":") or "mode=memory" in rest:
        raise UnmappableUri("its SQLite database is in the memory of Spark's process")
    if path == location:
        path = quote(path)  # with file: it is already a URI, which SQLite decodes in the same way as the JDBC driver
    # mode=rw: a missing database is an error; otherwise, SQLite would create an empty one
    return f"sqlite:///file:{path}?mode=rw&uri=true"


def _postgresql(rest: str, parameters: Mapping[str, str]) -> str:
    location, _, query = rest.partition("?")
    hosts, _, database = location.removeprefix("//").rpartition("/") if "/" in location else ("", "", location)
    options = {**parameters, **dict(parse_qsl(query, keep_blank_values=True))}
    libpq = {_LIBPQ_NAMES[key]: value for key, value in options.items() if key in _LIBPQ_NAMES}
    if options.get("ssl", "false").lower() in ("", "true"):
        libpq.setdefault("sslmode", "verify-full")  # as the JDBC driver interprets it
    if schema := options.get("currentSchema"):
        libpq.setdefault("options", f"-csearch_path={schema}")
    user = quote(options.get("user", ""), safe="")
    password = quote(options.get("password", ""), safe="")
    login = f"{user}:{password}@" if password else f"{user}@" if user else ""
    database = quote(unquote(database) or options.get("user", ""), safe="")
    pairs = sorted(libpq.items())
    if "," in hosts:
        pairs = [("host", host if re.search(r":\d+$", host) else f"{host}:5432") for host in hosts.split(",")] + pairs
        hosts = ""
    else:
        hosts = hosts or "localhost"  # the JDBC driver's default; libpq would use a local socket
    return f"postgresql+psycopg2://{login}{hosts}/{database}" + (f"?{urlencode(pairs)}" if pairs else "")
